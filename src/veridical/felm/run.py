"""All samples by one evaluator: bounded, in order, into a folder from which the same command goes on.

run.json            signature, versions, hash of the data, what was chosen of it
predictions.jsonl   one `Prediction` a line, flushed line by line
calls.sqlite        the cache of calls
scores.json, .md, .csv
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from ..errors import InputError, UsageError
from ..folder import RunFolder
from ..run import ordered
from .evaluators import Evaluator
from .records import Prediction, Sample

_decoder = msgspec.json.Decoder(Prediction)
_encoder = msgspec.json.Encoder()


class FelmFolder(RunFolder):
    """A run folder whose lines are predictions."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.reports_path = self.path / "predictions.jsonl"

    def done(self) -> list[str]:
        """Ids already predicted. A torn last line is cut off."""
        _mend(self.reports_path)
        return [str(one.id) for one in read(self.reports_path)] if self.reports_path.exists() else []


def read(path: Path) -> list[Prediction]:
    """The predictions of a file, or of the folder of a run; a torn last line is left out. Raises InputError for any
    other line that cannot be read, and UsageError where there is no such file or two lines are of one sample."""
    path = path / "predictions.jsonl" if path.is_dir() else path
    found: list[Prediction] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_decoder.decode(line))
        except msgspec.DecodeError as error:
            if number < len(lines):
                raise InputError(str(error), file=str(path), line=number) from None
    if twice := [id_ for id_, count in Counter(one.id for one in found).items() if count > 1]:
        raise UsageError(f"{path}: two predictions are of sample {twice[0]}")
    return found


async def run(
    samples: Sequence[Sample],
    evaluator: Evaluator,
    folder: FelmFolder,
    *,
    done: Iterable[str] = (),
    in_flight: int = 16,
    on_prediction: Callable[[Prediction], None] = lambda _: None,
) -> int:
    """Judge what is not done yet and append the predictions in order; returns how many were written.

    `done` must be the first ids of the samples (UsageError). A `FatalError` stops the run; what was finished in order
    up to then is on disk.
    """
    skipped = 0
    for place, id_ in enumerate(done):
        if place >= len(samples) or str(samples[place].id) != id_:
            raise UsageError(f"{folder.reports_path}:{place + 1} is of sample {id_}, which is another one now: --fresh")
        skipped += 1
    with folder.appending() as writer:

        def write(prediction: Prediction) -> None:
            writer.write(prediction)  # type: ignore[arg-type]  # it takes whatever can be encoded
            on_prediction(prediction)

        return await ordered(islice(samples, skipped, None), evaluator.judge, write, in_flight=in_flight)


def _mend(path: Path) -> None:
    """Cut off a last line that was not written whole; give one that lacks only its newline that."""
    if not path.exists():
        return
    content = path.read_bytes()
    if not content or content.endswith(b"\n"):
        return
    start = content.rfind(b"\n") + 1
    with path.open("r+b") as file:
        try:
            _decoder.decode(content[start:])
        except msgspec.DecodeError:
            file.truncate(start)
        else:
            file.seek(0, 2)
            file.write(b"\n")
