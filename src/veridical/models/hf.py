"""Models of transformers inside this process (the `hf` extra): text, and label logits by one forward pass."""

from __future__ import annotations

import dataclasses
import importlib
import json
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, UsageError, VeridicalError
from .base import ChatReply, ChatRequest, TokenLogprob
from .batched import Batched
from .hf_weights import Weights, best_device, check_dtype, find, load
from .wire import Dialect, decode

if TYPE_CHECKING:
    from .hf_run import Engine, Job, Said

_AHEAD = 8
"""Batches whose requests are sorted together, so that those of like length meet."""
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


@dataclasses.dataclass
class HF:
    """A causal language model; it is loaded at the first call. Concurrent calls are computed in batches in one thread.

    The chat template is the model's own; without one the messages are joined by blank lines and the model continues
    them. What a request gets does not depend on the others of its batch but for the last digits of floating point
    (about 1e-6 in a probability). The `json_schema` of a request is ignored. Without a seed, 0 is taken.
    """

    source: str
    """What follows "hf/": a name on the Hugging Face hub ("ORG/NAME", "ORG/NAME@REVISION"), a folder, a GGUF file of
    the llama architecture, or a packaged model's name."""
    window: int | None = None
    """Tokens of prompt and answer together; None = as many as the model was made for. A longer prompt is a
    `ModelError` before any work."""
    device: str = ""
    """"cuda", "mps", "cpu", ...; the best that there is if empty."""
    dtype: str = ""
    """"float32", "float16", "bfloat16" or "auto" (the checkpoint's own). If empty: float32 on the CPU, where half
    precision is up to 30 times slower, else "auto"."""
    max_batch: int = 32
    """Most requests computed together."""
    max_batch_tokens: int = 8192
    """Most tokens computed together, padding and room for the answers included. A longer request is computed alone."""
    name: str = ""
    """"hf/SOURCE" if empty; for a folder or file its own name and the beginning of its hash."""
    _engine: Engine | None = dataclasses.field(default=None, init=False, repr=False)
    _closing: threading.Event = dataclasses.field(default_factory=threading.Event, init=False, repr=False)

    def __post_init__(self) -> None:
        if min(self.max_batch, self.max_batch_tokens) < 1 or (self.window is not None and self.window < 1):
            raise UsageError("window, max_batch and max_batch_tokens must be at least 1")
        self._weights: Weights = find(self.source)
        self.name = self.name or self._weights.name
        self.device = self.device or best_device()
        self.dtype = self.dtype or ("float32" if self.device == "cpu" else "auto")
        check_dtype(self.dtype)
        self._batched: Batched[ChatRequest, ChatReply] = Batched(self._answers, most=_AHEAD * self.max_batch, name="hf")

    @property
    def identity(self) -> str:
        """The weights' and tokenizer's hash, or the commit on the hub, and what may move a number: the kind of device,
        the type of the weights, the window where it was set."""
        window = f" window={self.window}" if self.window else ""
        return f"hf {self._weights.identity} {self.device.partition(':')[0]} {self.dtype}{window}"

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply. Raises `ModelError` for a prompt longer than the window, an answer that fills it, labels that
        begin with the same token, and memory that does not suffice for this request alone; `FatalError` for weights
        that cannot be loaded.

        With `labels` nothing is generated: the reply's text is the likeliest label (the first of equals), its one token
        has all labels with their log-probabilities among themselves.
        """
        return await self._batched.submit(request)

    async def close(self) -> None:
        """Free the model, once the batch under way has ended; calls behind it are dropped. A further call loads it
        again."""
        self._closing.set()
        try:
            await self._batched.close()
        finally:
            self._closing.clear()
        self._engine = None

    # In the thread

    def _answers(self, requests: Sequence[ChatRequest]) -> list[ChatReply | Exception]:
        if self._engine is None:
            self._engine = load(self._weights, self.device, self.dtype, self.window)
        engine = self._engine
        answers: dict[int, ChatReply | Exception] = {}
        jobs: dict[int, Job] = {}
        for place, request in enumerate(requests):
            try:
                jobs[place] = engine.job(request)
            except Exception as error:  # a tokenizer's too: it is this item's trouble
                answers[place] = _as_model_error(self.name, error)
        for places in self._plan(jobs):
            if self._closing.is_set():
                answers.update((place, ModelError(f"{self.name} was closed before it answered")) for place in places)
                continue
            answers.update(zip(places, self._together(engine, [jobs[place] for place in places]), strict=True))
        return [answers[place] for place in range(len(requests))]

    def _plan(self, jobs: dict[int, Job]) -> Iterator[list[int]]:
        """Batches of one kind and of like lengths, within the bounds."""
        batch: list[int] = []
        for place in sorted(jobs, key=lambda place: (bool(jobs[place].request.labels), _size(jobs[place]))):
            alike = bool(batch) and bool(jobs[batch[0]].request.labels) == bool(jobs[place].request.labels)
            fits = len(batch) < self.max_batch and _size(jobs[place]) * (len(batch) + 1) <= self.max_batch_tokens
            if batch and not (alike and fits):
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def _together(self, engine: Engine, jobs: list[Job]) -> list[ChatReply | Exception]:
        """A batch that fails is halved and tried again, so that memory may suffice and trouble stays with its item."""
        try:
            return self._computed(engine, jobs)
        except Exception as error:  # of torch, of a model's code
            if len(jobs) == 1:
                return [_as_model_error(self.name, error)]
            if _out_of_memory(error):
                self._shrink(len(jobs) * max(map(_size, jobs)) // 2)
        half = len(jobs) // 2
        return [*self._together(engine, jobs[:half]), *self._together(engine, jobs[half:])]

    def _computed(self, engine: Engine, jobs: list[Job]) -> list[ChatReply | Exception]:
        if jobs[0].request.labels:
            pairs = zip(jobs, engine.compare(jobs), strict=True)
            return [said if isinstance(said, ModelError) else self._compared(job, said) for job, said in pairs]
        return [self._reply(job, said) for job, said in zip(jobs, engine.generate(jobs), strict=True)]

    def _shrink(self, tokens: int) -> None:
        """Later batches are no larger than half of one for which memory did not suffice."""
        self.max_batch_tokens = max(1, min(self.max_batch_tokens, tokens))
        torch: Any = importlib.import_module("torch")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _compared(self, job: Job, values: tuple[float, ...]) -> ChatReply:
        ranked = sorted(zip(job.request.labels, values, strict=True), key=lambda pair: -pair[1])
        label, value = ranked[0]
        return ChatReply(
            text=label,
            logprobs=(TokenLogprob(token=label, logprob=value, top=tuple(ranked)),),
            prompt_tokens=len(job.prompt),
            model=self.name,
        )

    def _reply(self, job: Job, said: Said | ModelError) -> ChatReply | Exception:
        """Through the reader of servers' replies: an empty text is no answer, reasoning no part of one."""
        if isinstance(said, ModelError):
            return said
        logprobs = [
            {"token": one.token, "logprob": one.logprob, "top_logprobs": [_pair(*pair) for pair in one.top]}
            for one in said.logprobs
        ]
        choice = {"message": {"content": said.text}, "finish_reason": "length" if said.cut else "stop"}
        usage = {"prompt_tokens": len(job.prompt), "completion_tokens": said.tokens}
        body = {"choices": [{**choice, "logprobs": {"content": logprobs}}], "usage": usage, "model": self.name}
        try:
            return decode(json.dumps(body).encode(), job.request, _DIALECT, {})
        except VeridicalError as error:
            return error


_DIALECT = Dialect(price_in=0.0, price_out=0.0)


def _pair(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob}


def _size(job: Job) -> int:
    """Tokens that a request may come to."""
    return len(job.prompt) + (0 if job.request.labels else job.request.max_tokens)


def _out_of_memory(error: Exception) -> bool:
    return any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _as_model_error(name: str, error: Exception) -> VeridicalError:
    if isinstance(error, VeridicalError):
        return error
    return ModelError(f"{name}: {type(error).__name__}: {str(error)[:500]}")
