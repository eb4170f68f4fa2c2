"""Many generations: order, bounds, fatal stops, resume."""

import asyncio
from dataclasses import dataclass, field

import pytest

from veridical.errors import FatalError, UsageError
from veridical.folder import RunFolder, RunInfo
from veridical.pipeline import Method
from veridical.run import Ended, Reported, Started, run
from veridical.types import AtomicFact, Decomposition, Evidence, Generation, Label, Verdict


@dataclass(frozen=True)
class Slow:
    """Takes as long as the topic says; keeps count of what runs at once."""

    name: str = "slow"
    seen: dict = field(default_factory=dict)

    async def decompose(self, generation, sentences):
        self.seen["now"] = self.seen.get("now", 0) + 1
        self.seen["most"] = max(self.seen.get("most", 0), self.seen["now"])
        self.seen.setdefault("ids", []).append(generation.id)
        await asyncio.sleep(float(generation.topic or 0))
        self.seen["now"] -= 1
        if generation.topic == "-1":
            raise FatalError("quota")
        return Decomposition(facts=(AtomicFact(id=f"{generation.id}/0.0", text="f", sentence=0),))


class Nothing:
    async def gather(self, fact, generation):
        return Evidence()


@dataclass(frozen=True)
class Yes:
    name: str = "yes"

    async def verify(self, facts, generation):
        return [Verdict(label=Label.SUPPORTED, judge="yes") for _ in facts]


@dataclass(frozen=True)
class Gatherer:
    async def gather(self, fact, generation):
        return Evidence()


def method(decomposer) -> Method:
    object.__setattr__(decomposer, "seen", decomposer.seen)
    return Method(name="m", decomposer=_Unsigned(decomposer), gatherer=Gatherer(), verifier=Yes())


class _Unsigned:
    """A part with a fingerprint, so that the counters of the double are not signed."""

    name = "slow"
    fingerprint = "0"

    def __init__(self, inner):
        self.decompose = inner.decompose


def started(path) -> RunFolder:
    folder = RunFolder(path / "run")
    made = method(Slow())
    info = RunInfo(signature="m", fields=made.signature.fields, input="x", input_sha256="0")
    with folder.held():
        folder.start(made.signature, info)
    return folder


def generations(waits) -> list[Generation]:
    return [Generation(id=str(n), text="t", topic=str(wait)) for n, wait in enumerate(waits)]


def ids(folder: RunFolder) -> list[str]:
    return [report.generation.id for report in folder.reports()]


async def test_r4_output_is_in_input_order(tmp_path):
    folder = started(tmp_path)
    await run(generations([0.06, 0.02, 0.04, 0]), method(Slow()), folder, in_flight=4)
    assert ids(folder) == ["0", "1", "2", "3"]


async def test_at_most_in_flight_and_input_is_read_lazily(tmp_path):
    folder, slow, read = started(tmp_path), Slow(), []

    def source():
        for generation in generations([0.001] * 60):
            read.append(len(slow.seen.get("ids", [])))
            yield generation

    await run(source(), method(slow), folder, in_flight=3)
    assert slow.seen["most"] == 3
    assert ids(folder) == [str(n) for n in range(60)]
    assert max(n - begun for n, begun in enumerate(read)) <= 12


async def test_done_generations_are_skipped_and_events_tell(tmp_path):
    folder, slow, events = started(tmp_path), Slow(), []
    await run(generations([0] * 5), method(slow), folder, done=["0", "1"], total=5, on_event=events.append)
    assert slow.seen["ids"] == ["2", "3", "4"]
    assert events[0] == Started(5, 2) and events[-1] == Ended(3)
    assert [type(e) for e in events[1:-1]] == [Reported] * 3


async def test_fatal_error_stops_the_run_and_keeps_what_is_finished(tmp_path):
    folder, slow = started(tmp_path), Slow()
    with pytest.raises(FatalError, match="quota"):
        await run(generations([0, 0, -1, *[0.05] * 100]), method(slow), folder, in_flight=2)
    assert ids(folder) == ["0", "1"]
    assert len(slow.seen["ids"]) < 12
    await run(generations([0, 0, 0, 0]), method(slow), folder, done=folder.done(), in_flight=2)
    assert ids(folder) == ["0", "1", "2", "3"]


async def test_cancelled_run_keeps_what_is_finished(tmp_path):
    folder = started(tmp_path)
    task = asyncio.create_task(run(generations([0, 0, 5, 0]), method(Slow()), folder, in_flight=4))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ids(folder) == ["0", "1"]


@pytest.mark.parametrize("done", [["1"], ["0", "2"], ["0", "0"], ["0", "1", "2", "3"]])
async def test_reports_that_are_not_a_beginning_of_the_input_are_refused(tmp_path, done):
    folder = started(tmp_path)
    with pytest.raises(UsageError, match="--fresh"):
        await run(generations([0] * 3), method(Slow()), folder, done=done)
