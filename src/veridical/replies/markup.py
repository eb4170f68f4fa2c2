"""What is in a reply beside its words."""

import re
import unicodedata

_THOUGHT, _END = "<think>", "</think>"


def answer(reply: str) -> str:
    """The reply without the thinking that a reasoning model may put before it; nothing if it never got beyond that."""
    said = reply.rpartition(_END)[2]
    return "" if said.lstrip().startswith(_THOUGHT) else said


MARKS = str.maketrans({**dict.fromkeys('*`"“”#>{}', None), "_": " ", "’": "'", "‑": "-"})
"""Markup that says nothing; taken out before words are compared."""

ANCHORS = "verdict|answer|label|conclusion|judge?ment|decision|classification|rating|final|output|result"
"""Nouns that announce a verdict."""

_PLAIN = str.maketrans({**dict.fromkeys("*#$\ufe0f", None), "_": " ", **dict.fromkeys("‘’‛", "'"), "‐": "-"})
_REWRITTEN = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"```[a-z]{0,12}", "\n"),
        (r"\\(?:text|textbf|mathrm|mathbf)\s?\{([^{}\n]{0,60})\}", r"\1"),
        (r"\\boxed\s?\{([^{}\n]{0,60})\}", r" answer: \1 "),
        (rf"<((?:final[_ ])?(?:{ANCHORS}))>", r" \1: "),
        (rf"</(?:final[_ ])?(?:{ANCHORS})>", "\n"),
        (r"""["']([a-z_ ]{1,30})["']\s?[:=]""", r"\1:"),  # a key, as in JSON
    )
)
_WRAPPED = re.compile(r"""^\s?(["`'])([^"`'\n]*)\1\s?$""", re.MULTILINE)


def plain(text: str) -> str:
    """Lower case without emphasis and invisible characters, "n't" spelt out, LaTeX boxes and tags as "answer: …".

    Quotation marks stay: they tell what is cited. A single blank between words, at most one blank line.
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    for pattern, replacement in _REWRITTEN:
        text = pattern.sub(replacement, text)
    text = text.translate(_PLAIN).replace("n't", " not").replace("i'd ", "i would ")
    text = re.sub(r"\bnot-", "not ", text)
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r"\n{2,}", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()
    whole = _WRAPPED.fullmatch(text)
    text = whole[2] if whole else text
    return _WRAPPED.sub(lambda line: line[2] if line[1] == "`" else line[0], text)
