"""What a command that reads finished runs is given: run folders, and result files of the published systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..folder import RunFolder, RunInfo
from ..inputs.results import Results, Shape, is_results
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


def headline(runs: Iterable[Run]) -> str:
    """The metric that all runs were scored by first; FActScore where they differ, or where it is not known."""
    first = {info.metrics[0] if (info := one.info()).metrics else METRIC for one in runs}
    return first.pop() if len(first) == 1 else METRIC
