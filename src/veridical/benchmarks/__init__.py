"""Prompt sets of published benchmarks: which people or topics, asked for with which words."""

from .biographies import BOUNDS, LEVELS, QUESTION, Draw, Drawn, Prompt, draw, level, prompts
from .entities import Entities, Entity, names
from .regions import REGIONS, countries, region

__all__ = [
    "BOUNDS",
    "LEVELS",
    "QUESTION",
    "REGIONS",
    "Draw",
    "Drawn",
    "Entities",
    "Entity",
    "Prompt",
    "countries",
    "draw",
    "level",
    "names",
    "prompts",
    "region",
]
