"""Options that several commands share, one by one (those that choose the method are in `setup.py`)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError


def _config(ctx: Any, path: Path | None) -> Path | None:
    """Take defaults of all options from a TOML file: every option by its long name, dashes or underscores."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path}: {error}") from None
    names = {option.lstrip("-").replace("-", "_"): param.name for param in ctx.command.params for option in param.opts}
    given = {key.replace("-", "_"): value for key, value in values.items()}
    if unknown := sorted(set(given) - set(names)):
        raise UsageError(f"--config {path}: no option named {', '.join(unknown)}")
    ctx.default_map = {**(ctx.default_map or {}), **{names[key]: value for key, value in given.items()}}
    return path


Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file with options by name.", is_eager=True, callback=_config),
]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before spending more, in US dollars.")]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", help="File that keeps replies of models; may be shared (score: in the run folder)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]
