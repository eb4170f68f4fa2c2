"""The probability of a label, read from the log-probabilities of the tokens that spell it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from .base import ChatReply, TokenLogprob

_MARKERS = {"Ġ": " ", "▁": " ", "Ċ": "\n"}  # how some servers write a space and a line break inside tokens
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]")
_EDGES = " \t\r\n*_`\"'[](){}<>.,:;!?#-–—“”‘’«»。！？：「」【】"


def label_probability(reply: ChatReply, positive: Sequence[str], negative: Sequence[str]) -> float | None:
    """P(positive) / (P(positive) + P(negative)) where the reply's last label is decided, in [0, 1].

    The place is the last whole-word occurrence of any label ("... is True in part. Answer: False" is read at "False"),
    longest label first ("not supported" is not "supported"), at the first token in which it differs from every label of
    the other side: for SU|PPORT|ED against "not supported" that is "SU".

    Each alternative listed at this token counts for the side whose label it spells or begins, whatever its case, its
    leading space (also as "▁" or "Ġ") or the punctuation around it. What could begin labels of both sides counts for
    neither, nor does a single letter other than the one that was generated ("T" may begin "The"). A label that the list
    does not hold has probability 0.

    None where the reply has no log-probabilities, no alternatives at this token, no label, or where one side's label is
    the beginning of the other's, so that no token decides.
    """
    if not reply.logprobs:
        return None
    tokens = [_plain(token.token, reply.text) for token in reply.logprobs]
    text = "".join(tokens)
    found = _last_label(text, [*positive, *negative])
    if found is None:
        return None
    start, label = found
    mine, theirs = (positive, negative) if label in positive else (negative, positive)
    shared = max((_common_prefix(label, other) for other in theirs), default=0)
    if shared in (len(label), *map(len, theirs)):
        shared = 0
    index, begin = _token_at(tokens, start + shared)
    token = reply.logprobs[index]
    if not token.top:
        return None
    done = max(0, begin - start)  # characters of the label that earlier tokens have spelled
    own, other = _masses(token, _rests(mine, label, done), _rests(theirs, label, done), reply.text)
    if own + other == 0.0:
        return None
    share = own / (own + other)
    return share if mine is positive else 1.0 - share


def _plain(token: str, text: str) -> str:
    for marker, meaning in _MARKERS.items():
        if marker in token and marker not in text:
            token = token.replace(marker, meaning)
    return token


def _last_label(text: str, labels: Sequence[str]) -> tuple[int, str] | None:
    """Where the last label begins, and which it is; of two that end together the longer one."""
    found = [(match.end(), -match.start(), label) for label in labels for match in _pattern(label).finditer(text)]
    if not found:
        return None
    _, start, label = max(found)
    return -start, label


def _pattern(label: str) -> re.Pattern[str]:
    """The label as a whole word, its inner spaces also as "_" or "-"."""
    words = r"[\s_\-]".join(re.escape(word) for word in re.split(r"[\s_\-]", label))
    return re.compile(words if _UNSPACED.search(label) else rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _common_prefix(one: str, other: str) -> int:
    pairs = zip(_normal(one), _normal(other), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _token_at(tokens: Sequence[str], place: int) -> tuple[int, int]:
    """Index and first character of the token that holds the character at `place`."""
    begin = 0
    for index, token in enumerate(tokens):
        if begin + len(token) > place:
            return index, begin
        begin += len(token)
    raise ValueError("place lies after the last token")


def _rests(labels: Sequence[str], label: str, done: int) -> list[str]:
    """What is left to spell of each label that begins as the first `done` characters of `label`."""
    head = _normal(label)[:done]
    return [_normal(one)[done:].strip(_EDGES) for one in labels if _normal(one).startswith(head)]


def _masses(token: TokenLogprob, mine: list[str], theirs: list[str], text: str) -> tuple[float, float]:
    """Probability of the alternatives that spell or begin one side's labels only."""
    generated = _normal(_plain(token.token, text)).strip(_EDGES)
    entries = list(token.top)
    if all(alternative != token.token for alternative, _ in entries):
        entries.append((token.token, token.logprob))
    own = other = 0.0
    for alternative, logprob in entries:
        spelled = _normal(_plain(alternative, text)).strip(_EDGES)
        is_mine, is_theirs = _begins(mine, spelled, generated), _begins(theirs, spelled, generated)
        if is_mine is not is_theirs:
            own, other = own + is_mine * math.exp(logprob), other + is_theirs * math.exp(logprob)
    return own, other


def _begins(rests: list[str], spelled: str, generated: str) -> bool:
    if len(spelled) == 1 and spelled.isascii() and spelled != generated:
        return spelled in rests
    return bool(spelled) and any(rest.startswith(spelled) for rest in rests)


def _normal(text: str) -> str:
    return text.lower().replace("_", " ").replace("-", " ")
