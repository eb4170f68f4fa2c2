"""What can be learned from finished runs beside their scores, as pure functions of reports (docs/analysis.md).

One file an analysis; each reads the reports once, keeps a few numbers a generation, and returns a frozen value that a
table or a page can be made of. Nothing in them is NaN, and whoever is not in a number is counted beside it.
"""

from .citations import Citations, citations
from .curve import Curve, Leaders, Point, Span, curve, leaders
from .groups import Groups, groups
from .overview import Overview, overview
from .position import Positions, positions
from .ranking import Correlated, Estimators, correlate, estimators
from .rarity import Rarity, rarity
from .shares import Coverage, Estimate, Share
from .stability import SIZES, Stability, stability

__all__ = [
    "SIZES",
    "Citations",
    "Correlated",
    "Coverage",
    "Curve",
    "Estimate",
    "Estimators",
    "Groups",
    "Leaders",
    "Overview",
    "Point",
    "Positions",
    "Rarity",
    "Share",
    "Span",
    "Stability",
    "citations",
    "correlate",
    "curve",
    "estimators",
    "groups",
    "leaders",
    "overview",
    "positions",
    "rarity",
    "stability",
]
