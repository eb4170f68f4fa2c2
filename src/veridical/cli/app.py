"""The command tree. Each command's module is imported when it is used, so that `veridical --help` starts at once."""

from __future__ import annotations

import importlib
from typing import Any

import typer
import typer.core

from .. import __version__

COMMANDS: dict[str, str] = {
    "score": "Decompose, gather evidence, judge and score a file of generations.",
    "check": "Check one text and print its facts with verdict, evidence and source.",
    "metrics": "Scores of a finished run: any metric, no model calls.",
    "compare": "Runs side by side on their common prompts: differences, intervals, ranking.",
    "agree": "Runs against people's labels: error rate, F1, balanced accuracy, ranking.",
    "agreement": "Annotators against each other: raw agreement, kappa, alpha.",
    "decomposers": "Decomposers against facts that people wrote.",
    "felm": "FELM: an evaluator against its labels of segments.",
    "recheck": "What one source did not support, judged again by another.",
    "freeze": "The facts and the evidence of a run in one file, for other judges.",
    "meta": "A judge against labelled sets: how far can it be trusted, on what, at what price.",
    "correct": "Scores corrected by a small part that people labelled; how much to label.",
    "bench": "A benchmark in one go: answers, verdicts, the table of systems.",
    "analyse": "Scores by group, position, rarity, citations; how stable a ranking is.",
    "estimate": "Calls, tokens, money and time before spending any.",
    "knowledge": "Build, search and describe a knowledge source.",
    "models": "Judges at hand: list, fetch an embedded one, probe an endpoint.",
    "methods": "The published recipes and the embedded one.",
    "biographies": "Draw people from a table and write the prompts of FActScore's biographies.",
    "generate": "Answers of a model to a prompt set, ready to be scored.",
    "longfact": "Make new LongFact-style prompts.",
    "data": "Published data sets: list and fetch.",
    "cache": "What the cache of calls holds; clear it.",
}
"""Name of each command and its one line of help; the command is `app` in the module of that name."""


class _Lazy(typer.core.TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__package__}.{cmd_name}")
        command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=_Lazy,
    name="veridical",
    help="Measure and explain the factuality of long-form text written by language models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
