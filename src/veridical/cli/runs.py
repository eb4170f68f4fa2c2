"""What a command that reads finished runs is given: run folders, and result files of the published systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..folder import RunFolder, RunInfo
from ..inputs.results import Results, Shape, is_results
from ..methods import METHODS
from ..safe import PublishedSAFE
from ..types import Report


class ResultFile:
    """A result file of another system, read like a run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def info(self) -> RunInfo:
        """Its signature is what the reports carry, a system's name: what it was made with is not known."""
        signature = next(iter(Results(self.path))).signature
        return RunInfo(signature=signature, fields={"name": signature}, input=self.path.name, input_sha256="")

    def shape(self) -> Shape:
        """What kind of file it is, and what it lacks."""
        results = Results(self.path)
        next(iter(results))
        assert results.shape  # known once a report was read
        return results.shape

    def reports(self) -> Iterator[Report]:
        return iter(Results(self.path))


Run = RunFolder | ResultFile


def run_at(path: Path) -> Run:
    """The run at that path; a folder that is none is told when it is read."""
    return ResultFile(path) if path.is_file() else RunFolder(path)


def is_run(path: Path) -> bool:
    """Whether it is a folder or a result file, and not, say, a file with people's labels."""
    return path.is_dir() or (path.is_file() and is_results(path))


METRIC = "factscore(gamma=10)"


def headline(runs: Iterable[Run], default: str = METRIC) -> tuple[str, str | None]:
    """The metric that all runs were scored by first; `default` where they differ, and then what to tell of it."""
    first = list(dict.fromkeys(map(_first_metric, runs)))
    if len(first) == 1:
        return first[0], None
    return default, f"the runs were scored by {' and '.join(first)}; used here: {default} (--metric chooses another)"


def _first_metric(run: Run) -> str:
    """FActScore where it is not known; result files of SAFE are by its own."""
    if metrics := run.info().metrics:
        return metrics[0]
    return PublishedSAFE().metric if isinstance(run, ResultFile) and run.shape().name == "SAFE" else METRIC


def own_method(run: Run) -> str | None:
    """The recipe by which a run was judged (last); None where that is no recipe of this program."""
    fields = run.info().fields
    name = fields.get("second.name") or fields.get("name")
    return name if isinstance(name, str) and set(name.split("+")) <= set(METHODS) else None
