"""LongFact's 38 topics and the classes they fall into (Wei et al. 2024, arXiv 2403.18802v4, appendix B.2, table 6).

Names are spelled as in the published list; a file's name has dashes in place of blanks.
"""

from __future__ import annotations

from ..text.normal import loose

SUPERCATEGORIES: dict[str, tuple[str, ...]] = {
    "STEM": (
        *("astronomy", "biology", "chemistry", "clinical knowledge", "computer science", "computer security"),
        *("electrical engineering", "machine learning", "mathematics", "medicine", "physics", "virology"),
    ),
    "social sciences": (
        *("economics", "geography", "immigration law", "management", "marketing", "prehistory"),
        *("psychology", "public relations", "sociology", "sports", "US foreign policy"),
    ),
    "humanities": (
        *("20th century events", "architecture", "celebrities", "history", "international law", "jurisprudence"),
        *("moral disputes", "movies", "music", "philosophy", "world religions"),
    ),
    "other": ("accounting", "business ethics", "gaming", "global facts"),
}
"""Class -> its topics."""
TOPICS: tuple[str, ...] = tuple(sorted(topic for topics in SUPERCATEGORIES.values() for topic in topics))
"""All 38, in the order of their files' names."""
_CLASS = {topic: name for name, topics in SUPERCATEGORIES.items() for topic in topics}
_KNOWN = {loose(topic): topic for topic in TOPICS}


def supercategory(topic: str) -> str | None:
    """The class of a topic; None for one that is not among the 38."""
    return _CLASS.get(topic)


def topic_named(name: str) -> str:
    """The published spelling of a topic ("US-foreign-policy", "Us Foreign Policy"); a name of yours stays as it is."""
    plain = " ".join(name.replace("-", " ").split())
    return _KNOWN.get(loose(plain), " ".join(name.split()))


def slug(topic: str) -> str:
    """The topic as it stands in a file's name."""
    return "-".join(topic.split())
