"""Forms of a page title, from strict to forgiving. The last two are stored in the knowledge source, so changing one
raises its schema version.

| form     | forgives                                                          | "José  Peña_(painter)" |
|----------|-------------------------------------------------------------------|------------------------|
| `tidy`   | white space, underscores, composed or decomposed accents          | José Peña (painter)    |
| `normal` | also case, full-width and other compatibility characters, quotes  | josé peña (painter)    |
| `bare`   | also accents, punctuation, blanks and the last (…)                | josepena               |
"""

from __future__ import annotations

import re
import unicodedata

from ..text.normal import fold, loose

_BLANKS = re.compile(r"[\s_]+")
_QUALIFIER = re.compile(r"(?<=\S)\s?\(([^()]+)\)\Z")
_TELLING = re.compile(r"[+#&@*/%$]")
"""Signs that tell titles apart: "C", "C++" and "C#"."""


def tidy(title: str) -> str:
    """For the exact comparison."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", title)).strip()


def normal(title: str) -> str:
    """`tidy` without regard to case and width."""
    return fold(title.replace("_", " "))


def bare(title: str) -> str:
    """Letters, digits and the signs that tell titles apart, these last."""
    return loose(title).replace(" ", "") + "".join(_TELLING.findall(normal(title)))


def qualifier(title: str) -> str:
    """What stands in the last brackets: "painter" of "Ana Belmonte (Painter)"; else ""."""
    found = _QUALIFIER.search(normal(title))
    return bare(found[1]) if found else ""
