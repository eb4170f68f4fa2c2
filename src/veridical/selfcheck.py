"""Self-check: does the model say the same again? A fact that its other answers give too is likelier to be true.

SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896) in the form that FActScore compares with (appendix B.1): a judge is
shown one sample at a time and asked whether it says so, and the majority of the samples decides. No knowledge source is
needed; a mistake that the model makes every time passes, and a truth that it tells once does not.

Labels: SUPPORTED, or NOT_ENOUGH_EVIDENCE, read as "not supported". Answers of a model cannot contradict a fact.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .asking import ask, prompt
from .errors import ParseError, SearchError, StageError, UsageError, leaf
from .models.base import ChatReply, ChatRequest, LanguageModel
from .models.wire import OutOfBudget
from .prompts import fence
from .replies import answer
from .text.abstention import EMPTY, Abstention, Standard
from .text.normal import is_blank
from .types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Quote, Struct, Verdict, Vote
from .verify import RetrieveVerifier

T = TypeVar("T")
MODE = "votes"

# --- evidence


@dataclass(frozen=True)
class Samples:
    """Gathers the samples of a generation: the first `n` that came with it, and what is missing from its own model.

    One passage each, "sample/1" onwards, whatever the fact. A sample that abstains or is blank is left out, takes no
    part in the vote, and is named in `Evidence.skipped`. One that is the generation's own text is a sample like others.
    One that max_tokens cut is dropped, and named there too, as long as two are left: the vote is a majority of answers
    (FActScore, appendix B.1), which one alone is not.
    Raises `SearchError` for a generation without samples where there is no model, or no prompt, to draw them with;
    `ParseError` where cut ones leave too few (fewer than two, or none of a single one).
    """

    model: LanguageModel | None = None
    """The model under test. None: what came with the input has to do."""
    n: int = 5
    temperature: float = 1.0
    max_tokens: int = 1024
    """A sample that does not end within it is drawn once more with twice the room; then it is dropped."""
    top_p: float | None = None
    seed: int | None = None
    """Sample k is drawn with seed + k, so that a server that keeps to seeds does not give the same one each time."""
    abstention: Abstention = Standard()

    def __post_init__(self) -> None:
        if self.n < 1 or self.max_tokens < 1:
            raise UsageError(f"at least one sample of at least one token: {self.n}, {self.max_tokens}")
        if self.model is not None and not self.temperature > 0:
            raise UsageError(f"samples differ only at a temperature above 0: {self.temperature}")

    async def gather(self, fact: AtomicFact, generation: Generation) -> Evidence:
        """The same for every fact of the generation; drawn once for all of them."""
        given = generation.samples[: self.n]
        missing = self.n - len(given)
        skipped: tuple[str, ...] = ()
        drawn: tuple[str | Dropped, ...] = ()
        if missing and self.model is not None and not is_blank(generation.prompt):
            key = (generation.id, generation.prompt, len(given))
            drawn = await self._shared.get(
                key, functools.partial(self._draw, self.model, generation.prompt, len(given))
            )
        elif not given:
            raise SearchError(_nothing(generation, self.model))
        elif missing and self.model is not None:
            skipped = (f"{missing} of {self.n} samples were not drawn: the generation has no prompt",)
        passages, silent = _sorted((*given, *drawn), generation.topic, self.abstention)
        return Evidence(queries=(generation.prompt,) if drawn else (), passages=passages, skipped=(*silent, *skipped))

    async def _draw(self, model: LanguageModel, asked: str, given: int) -> tuple[str | Dropped, ...]:
        """The samples after the `given` ones, at once. All are waited for, so that a cache keeps what was paid for."""
        async with asyncio.TaskGroup() as group:
            numbers = range(given + 1, self.n + 1)
            tasks = [group.create_task(self._sample(model, self.request(asked, number))) for number in numbers]
        outcomes = [task.result() for task in tasks]
        cut = [one for one in outcomes if isinstance(one, _CUT)]
        if cut and given + len(outcomes) - len(cut) < min(2, self.n):
            raise cut[0]
        for outcome in outcomes:
            if isinstance(outcome, StageError) and outcome not in cut:
                raise outcome
        return tuple(Dropped(why=str(one)) if isinstance(one, StageError) else one for one in outcomes)

    async def _sample(self, model: LanguageModel, request: ChatRequest) -> str | StageError:
        try:
            return await ask(model, request, _whole, reminder="", retries=1)
        except StageError as error:
            return error

    def request(self, asked: str, number: int) -> ChatRequest:
        """What the model is asked for sample `number`, from 1. The number is in the request, so that a cache keeps the
        samples apart, and apart from the generation itself, which is number 0."""
        return ChatRequest(
            messages=prompt(asked, max_tokens=1).messages,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=None if self.seed is None else self.seed + number,
            sample=number,
        )

    @functools.cached_property
    def _shared(self) -> Shared[tuple[str | Dropped, ...]]:
        return Shared()


class Dropped(Struct, frozen=True):
    """In place of a sample that was drawn and cannot be used."""

    why: str


_CUT = (ParseError, OutOfBudget)
"""A sample that max_tokens cut, or that never began for reasoning."""


def _nothing(generation: Generation, model: LanguageModel | None) -> str:
    if model is None:
        return (
            f"generation {generation.id} has no samples: give them in its field 'samples', or name a model to draw them"
        )
    return f"generation {generation.id} has neither samples nor a prompt to draw them with"


def _whole(reply: ChatReply) -> str:
    if reply.finish_reason == "length":
        raise ParseError("a sample was cut by max_tokens, also with twice the room", reply=reply.text)
    return answer(reply.text)


@functools.lru_cache(maxsize=64)
def _sorted(
    texts: tuple[str | Dropped, ...], topic: str | None, abstention: Abstention
) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """The samples that say something, and what is said of the others. Cached: every fact of a generation asks it."""
    passages: list[Passage] = []
    skipped: list[str] = []
    for number, text in enumerate(texts, 1):
        if isinstance(text, Dropped):
            skipped.append(f"sample/{number}: dropped ({text.why})")
        elif words := abstention.detect(text, topic) or (EMPTY if is_blank(text) else None):
            skipped.append(f"sample/{number}: abstains ({words})")
        else:
            passages.append(Passage(id=f"sample/{number}", text=text, source="sample"))
    return tuple(passages), tuple(skipped)


class Shared(Generic[T]):
    """Work that several ask for and that is done once. The last `keep` results are held; errors are not.

    One that waits and is cancelled does not disturb the others; when the last one has left, the work is cancelled too.
    """

    def __init__(self, keep: int = 64) -> None:
        self.keep = keep
        self._results: dict[Hashable, T] = {}
        self._under_way: dict[Hashable, _Work[T]] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """The result of the work under this key, which `make` begins if nobody has asked for it yet."""
        if key in self._results:
            return self._results[key]
        place = (asyncio.get_running_loop(), key)  # a task can be awaited in its own event loop only
        work = self._under_way.get(place)
        if work is None:
            work = self._under_way[place] = _Work(asyncio.create_task(_unwrapped(make)))
            work.task.add_done_callback(functools.partial(self._ended, place, key))
        work.waiting += 1
        try:
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if not work.waiting and not work.task.done():
                del self._under_way[place]  # at once: who comes now must not wait for what is being cancelled
                work.task.cancel()

    def _ended(self, place: Hashable, key: Hashable, task: asyncio.Task[T]) -> None:
        work = self._under_way.get(place)
        if work is not None and work.task is task:
            del self._under_way[place]
        if not task.cancelled() and task.exception() is None:
            self._results[key] = task.result()
            for oldest in list(self._results)[: -self.keep]:
                del self._results[oldest]


@dataclass
class _Work(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


async def _unwrapped(make: Callable[[], Awaitable[T]]) -> T:
    """As `make`; of a task group's errors the one that matters."""
    try:
        return await make()
    except ExceptionGroup as group:
        raise leaf(group) from None


# --- the vote


def majority(said: Sequence[bool | None]) -> bool | None:
    """Whether more than half say so; a tie is no majority. None among `said`: it failed and might have said either.

    None where those that failed could turn the outcome.
    """
    supporting, failed = said.count(True), said.count(None)
    if 2 * supporting > len(said):
        return True
    return None if 2 * (supporting + failed) > len(said) else False


def voted(judge: str, outcomes: Sequence[tuple[str, Verdict | Failure]]) -> Verdict | Failure:
    """The verdict of the majority of the samples, each with its id and what was found of it.

    Mode "votes"; `probability` is the mean of the samples' probabilities where all that were judged have one, else the
    share of them that support. Nothing to vote is mode "no evidence". If what failed could turn it: a `Failure`.
    """
    if not outcomes:
        return Verdict(label=Label.NOT_ENOUGH_EVIDENCE, judge=judge, mode="no evidence")
    said = [one.label is Label.SUPPORTED if isinstance(one, Verdict) else None for _, one in outcomes]
    failures = [one for _, one in outcomes if isinstance(one, Failure)]
    outcome = majority(said)
    if outcome is None:
        first = failures[0]
        message = (
            f"{len(failures)} of {len(outcomes)} samples failed and could turn the vote; the first: {first.message}"
        )
        votes = tuple(_vote(id, one) for id, one in outcomes)
        return Failure(stage=first.stage, error=first.error, message=message, reply=first.reply, votes=votes)
    verdicts = [one for _, one in outcomes if isinstance(one, Verdict)]
    return Verdict(
        label=Label.SUPPORTED if outcome else Label.NOT_ENOUGH_EVIDENCE,
        judge=judge,
        probability=_probability(verdicts),
        mode=MODE,
        rationale=_rationale(said, outcomes),
        quotes=_quotes(verdicts),
        votes=tuple(_vote(id, one) for id, one in outcomes),
    )


def _probability(verdicts: Sequence[Verdict]) -> float:
    numbers = [one.probability for one in verdicts if one.probability is not None]
    if len(numbers) == len(verdicts):
        return sum(numbers) / len(numbers)
    return sum(one.label is Label.SUPPORTED for one in verdicts) / len(verdicts)


def _rationale(said: Sequence[bool | None], outcomes: Sequence[tuple[str, Verdict | Failure]]) -> str:
    failed = f", {said.count(None)} failed" if None in said else ""
    head = f"{said.count(True)} of {len(said)} samples say so{failed}"
    reasons = [f"{id}: {one.rationale}" for id, one in outcomes if isinstance(one, Verdict) and one.rationale]
    return "\n".join([head, *reasons])


def _quotes(verdicts: Sequence[Verdict]) -> tuple[Quote, ...]:
    """Of the samples that support."""
    return tuple(quote for one in verdicts if one.label is Label.SUPPORTED for quote in one.quotes)


def _vote(id: str, outcome: Verdict | Failure) -> Vote:
    if isinstance(outcome, Failure):
        return Vote(judge=id, failure=outcome)
    return Vote(judge=id, label=outcome.label, probability=outcome.probability)


# --- the judge


@dataclass(frozen=True)
class SelfCheck(RetrieveVerifier):
    """FActScore's "Self-check LM": True or False by each sample alone, and more than half of the samples decide.

    Settings are those of `RetrieveVerifier`; the question is True or False only. With `facts_per_call` several facts
    share a call about one sample. The votes say what was found of each sample (`Vote.judge` is the sample's id); quotes
    are of the samples that support. A sample that failed leaves a vote open: see `voted`.
    """

    together: bool = False
    """Show all samples in one call and ask whether more than half say so: n times cheaper, not what was published.
    Samples beyond `max_evidence_tokens` are then left out, from the last one up."""

    def __post_init__(self) -> None:
        if self.choices != "two":
            raise UsageError(
                "self-check tells supported from not supported only: answers of a model contradict nothing"
            )
        super().__post_init__()

    @property
    def gives_probability(self) -> bool:
        """In every mode, of samples one by one: the share that says so, at the least."""
        return self.mode != "text" or not self.together

    def _file(self, name: str) -> str:
        return f"selfcheck/{name}_together" if self.together and name != "reminder" else f"selfcheck/{name}"

    @property
    def name(self) -> str:
        return f"self-check({self.model.name})"

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`. The passages of a fact's evidence are the samples, one each."""
        if self.together:
            return await super().verify(facts, generation)
        samples = [[passage for passage in evidence.passages if not is_blank(passage.text)] for _, evidence in facts]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._about(place, samples, [fact for fact, _ in facts], generation))
                for place in range(max(map(len, samples), default=0))
            ]
        asked: list[list[tuple[str, Verdict | Failure]]] = [[] for _ in facts]
        for task in tasks:
            for row, id, outcome in task.result():
                asked[row].append((id, outcome))
        return [voted(self.model.name, outcomes) for outcomes in asked]

    async def _about(
        self, place: int, samples: Sequence[Sequence[Passage]], facts: Sequence[AtomicFact], generation: Generation
    ) -> list[tuple[int, str, Verdict | Failure]]:
        """What each fact's sample at this place says of it: the fact's row, the sample's id, the outcome."""
        rows = [row for row, own in enumerate(samples) if len(own) > place]
        cases = [(facts[row], Evidence(passages=(samples[row][place],))) for row in rows]
        outcomes = await super().verify(cases, generation)
        return [(row, samples[row][place].id, outcome) for row, outcome in zip(rows, outcomes, strict=True)]

    def _evidence(self, passages: Sequence[Passage]) -> str:
        return "\n\n".join(fence("sample", passage.text) for passage in passages)
