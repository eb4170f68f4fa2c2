"""Reading a question with its expected answer, and an answer, off a model's reply. Time is linear in the reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ParseError
from ..text.normal import fold, is_blank
from .markup import answer
from .structured import read_json

_LABEL = re.compile(
    r"[\s>*#_`\-•(]{0,12}(?:\d{1,2}[.)]\s{0,4})?[*_`]{0,3}"
    r"(?:(?P<question>question|q)|(?:(?:expected|correct|short|final)\s)?answer|expected|a)\s?\d{0,2}[*_`]{0,3}\s?[:：]"
    r"[*_`\s]{0,6}(?P<said>.*)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"[\s|;*_]{1,6}(?:(?:[Ee]xpected )?[Aa]nswer|ANSWER|A)[*_]{0,3}\s?[:：][*_]{0,3}\s")
_QUESTION_KEYS = ("question", "q")
_ANSWER_KEYS = ("expected answer", "expected", "answer", "a")
_LONGEST = 300
"""Characters of an answer that nothing announces, and of a question that goes on in further lines."""


def read_question(reply: str) -> tuple[str, str]:
    """The question and its expected answer: `{"question": …, "answer": …}`, lines "Question: …" and "Answer: …" in
    common variants, or a line that ends in "?" and one with the answer. Of several pairs the first.

    Raises `ParseError` where there is no such pair, or one of the two is blank.
    """
    found = _pair_in_json(reply) or _pair_in_lines(answer(reply))
    question, expected = (_bare(text) for text in found or ("", ""))
    if not any(map(str.isalnum, question)) or is_blank(expected):
        raise ParseError("no question with an expected answer in the reply", reply=reply)
    return question, expected


def _pair_in_json(reply: str) -> tuple[str, str] | None:
    try:
        return _pair(read_json(reply, lambda value: _pair(value) is not None).value)
    except ParseError:
        return None


def _pair(value: Any) -> tuple[str, str] | None:
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, dict):
        return None
    question, expected = _under(value, _QUESTION_KEYS), _under(value, _ANSWER_KEYS)
    return (question, expected) if question is not None and expected is not None else None


def _under(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The text, or the number as text, under the first of these keys that is there."""
    keys = {key.casefold().replace("_", " ").strip(): item for key, item in value.items()}
    item = next((keys[name] for name in names if name in keys), None)
    return str(item) if isinstance(item, str | int | float) and not isinstance(item, bool) else None


def _pair_in_lines(said: str) -> tuple[str, str] | None:
    lines = [line for line in said.splitlines() if line.strip() and not line.lstrip().startswith("```")]
    question, expected, reading, before = "", "", "", ""
    for line in lines:
        label = _LABEL.match(line)
        if label and label["question"]:
            if question:
                break
            question, *rest = _INLINE.split(label["said"], maxsplit=1)
            expected, reading = "".join(rest), "question"
        elif label:
            question = question or (before if before.endswith("?") else "")
            expected, reading = label["said"], "answer"
        elif reading == "question" and "?" not in question:
            if len(question) > _LONGEST:
                break
            question = f"{question} {line.strip()}".strip()
        elif reading == "answer" and not expected:
            expected = line
        before = "" if label else line.strip()
        if question and expected:
            return question, expected
    if not question and not expected and len(lines) == 2 and lines[0].rstrip().endswith("?"):
        return lines[0], lines[1]
    return None


def read_answer(reply: str) -> str | None:
    """The answer: `{"answer": …}`, the last line "Answer: …" before any further question, or a short reply as a whole.

    None where it says that it does not know. Raises `ParseError` where no answer can be told from the rest.
    """
    found = _answer_in_json(reply)
    found = _answer_in_lines(answer(reply)) if found is None else found
    found = _bare(found or "")
    if _UNKNOWN.match(fold(found)):
        return None
    if not any(map(str.isalnum, found)):
        raise ParseError("no answer in the reply", reply=reply)
    return found


def _answer_in_json(reply: str) -> str | None:
    try:
        value = read_json(reply, lambda value: isinstance(value, dict)).value
    except ParseError:
        return None
    nothing = any(key.casefold() in _ANSWER_KEYS and item is None for key, item in value.items())
    return "unknown" if nothing else _under(value, _ANSWER_KEYS)


def _answer_in_lines(said: str) -> str | None:
    lines = [line for line in said.splitlines() if line.strip() and not line.lstrip().startswith("```")]
    found: str | None = None
    for line in lines:
        label = _LABEL.match(line)
        if label and label["question"]:
            if found:
                break
        elif label:
            found = label["said"]
        elif found == "":
            found = line
    if found is None and sum(map(len, lines)) <= _LONGEST:
        return " ".join(line.strip() for line in lines if not _LABEL.match(line))
    return found


_UNKNOWN = re.compile(
    r"(?:the answer is |it is |this is |that is )?(?:"
    r"(?:unknown|not known|n/a|null|no answer|not enough information|insufficient information)(?=\s?(?:$|[.,;:!()–—-]))"
    r"|not (?:stated|mentioned|specified|given|provided|said|clear|available|in the (?:passages?|evidence))\b"
    r"|(?:i )?(?:do not|don't|cannot|can't|could not) (?:know|say|tell|answer|determine)\b"
    r"|(?:it )?(?:cannot|can't|could not) be (?:determined|answered|told|said)\b"
    r"|(?:the |these |this )?(?:given |provided )?(?:passages?|evidence|texts?|context|answers?)"
    r" (?:do not|don't|does not|doesn't)\b"
    r"|there (?:is|are) no (?:information|mention|answer|evidence)\b|no (?:information|mention)\b)"
)
"""In place of an answer, in the folded text."""


def _bare(text: str) -> str:
    """Without emphasis, code marks and quotation marks around it."""
    text = text.strip().strip("*_` \t").strip()
    for opening, closing in ('""', "''", "“”", "«»"):
        if len(text) > 2 and text[0] == opening and text[-1] == closing and opening not in text[1:-1]:
            text = text[1:-1].strip()
    return text
