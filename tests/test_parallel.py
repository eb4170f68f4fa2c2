"""Work of several processes in order."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from veridical.errors import FatalError, InputError
from veridical.knowledge import parallel


def slow_first(number: int) -> tuple[int, int]:
    time.sleep(0.2 if number == 0 else 0.0)
    return number * number, os.getpid()


def fails_at_three(number: int) -> int:
    if number == 3:
        raise InputError("broken", file="three.xml")
    return number


def dies_at_two(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_results_come_in_order_from_several_processes() -> None:
    found = list(parallel.in_order(slow_first, range(12), workers=2))
    assert [item for item, _ in found] == list(range(12))
    assert [result[0] for _, result in found] == [number * number for number in range(12)]
    pids = {result[1] for _, result in found}
    assert os.getpid() not in pids and len(pids) == 2


def test_one_worker_is_this_process() -> None:
    assert {result[1] for _, result in parallel.in_order(slow_first, range(1, 4), workers=1)} == {os.getpid()}


def test_no_more_is_taken_than_memory_allows() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    results = parallel.in_order(fails_at_three, items(), workers=2)
    assert next(results) == (0, 0)
    assert len(taken) == 2 * parallel.AHEAD
    results.close()


def test_what_fails_is_raised_at_its_turn_after_what_came_before() -> None:
    done = []
    with pytest.raises(InputError, match="broken") as caught:
        for item, _ in parallel.in_order(fails_at_three, range(8), workers=2):
            done.append(item)
    assert done == [0, 1, 2]
    assert "three.xml" in str(caught.value)


def test_a_killed_worker_is_run_wide_trouble() -> None:
    with pytest.raises(FatalError, match="was killed"):
        list(parallel.in_order(dies_at_two, range(8), workers=2))
