"""A module imports only from layers above its own (docs/design.md)."""

import ast
from pathlib import Path

import pytest

import veridical

ROOT = Path(veridical.__file__).parent
LAYERS = [
    "__init__",
    "errors types",
    "text",
    "signature failures tally",
    "prompts replies",
    "metrics stats calibration correction",
    "scores agreement recall paired",
    "gold",
    "compare",
    "agree analysis",
    "correct",
    "models",
    "knowledge",
    "nonclaims facts asking quotes showing",
    "decompose gather verify",
    "selfcheck",
    "nonparametric questions published",
    "clauses verifiers",
    "safe frozen",
    "ensemble",
    "calibrated",
    "cascade",
    "pipeline",
    "parts",
    "methods",
    "inputs folder export datasets",
    "wikimedia",
    "benchmarks",
    "meta decomposition",
    "run estimate recheck",
    "generate",
    "felm",
    "cli",
    "__main__",
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}
MODULES = [ROOT / "__init__.py", *sorted(set(ROOT.rglob("*.py")) - {ROOT / "__init__.py"})]


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Rooms of this package that the module imports, at any depth."""
    package = ["veridical", *path.relative_to(ROOT).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("veridical.")}
    return found & set(RANK)


def test_every_room_has_its_place():
    assert {room(path) for path in MODULES} <= set(RANK)


@pytest.mark.parametrize("path", MODULES[1:], ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_from_above(path):
    """All but the first, the public face, which re-exports from every room."""
    own = RANK[room(path)]
    wrong = {name for name in imports(path) - {room(path)} if RANK[name] >= own}
    assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_two_rooms(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
