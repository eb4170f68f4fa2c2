import asyncio
import threading

import pytest

from veridical.errors import FatalError, ModelError
from veridical.models.batched import Batched


async def test_what_waits_together_is_run_together_in_order_within_the_bound():
    sizes, release = [], threading.Event()

    def run(items):
        release.wait(5)
        sizes.append(len(items))
        return [10 * item for item in items]

    batched = Batched(run, most=4, name="b")
    calls = [asyncio.create_task(batched.submit(n)) for n in range(11)]
    await asyncio.sleep(0.02)
    release.set()
    assert await asyncio.gather(*calls) == [10 * n for n in range(11)]
    assert sum(sizes) == 11
    assert max(sizes) == 4
    await batched.close()
    assert await batched.submit(7) == 70  # another thread
    await batched.close()
    await batched.close()


async def test_an_exception_is_its_items_own_and_a_raised_one_everybodys():
    def run(items):
        if "all" in items:
            raise FatalError("nothing works")
        return [ModelError(item) if item == "bad" else item for item in items]

    batched = Batched(run, most=8, name="b")
    outcomes = await asyncio.gather(*map(batched.submit, ("a", "bad", "c")), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["a", "bad", "c"]
    assert isinstance(outcomes[1], ModelError)
    with pytest.raises(FatalError):
        await batched.submit("all")
    assert await batched.submit("d") == "d"
    await batched.close()


async def test_who_is_cancelled_before_is_left_out_and_during_is_not_missed():
    seen, begun, release = [], threading.Event(), threading.Event()

    def run(items):
        seen.append(list(items))
        begun.set()
        release.wait(5)
        return items

    batched = Batched(run, most=1, name="b")
    first, second, third = (asyncio.create_task(batched.submit(n)) for n in range(3))
    assert await asyncio.to_thread(begun.wait, 5)
    first.cancel()  # under way
    second.cancel()  # waiting
    await asyncio.sleep(0.01)
    release.set()
    assert await third == 2
    assert first.cancelled() and second.cancelled()
    assert seen == [[0], [2]]
    await batched.close()


async def test_closing_waits_for_what_is_computed_and_not_for_what_waits():
    seen, begun, release = [], threading.Event(), threading.Event()

    def run(items):
        seen.append(list(items))
        begun.set()
        release.wait(5)
        return items

    batched = Batched(run, most=1, name="b")
    calls = [asyncio.create_task(batched.submit(n)) for n in range(20)]
    assert await asyncio.to_thread(begun.wait, 5)
    closing = asyncio.create_task(batched.close())
    await asyncio.sleep(0.02)
    release.set()
    await closing
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert seen == [[0]] and outcomes[0] == 0
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes[1:])
    assert await batched.submit(7) == 7  # though many that were dropped stood before it
    await batched.close()
