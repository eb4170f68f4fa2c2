"""Running a causal language model of transformers on batches: label logits and text."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import math
import re
from collections.abc import Sequence
from typing import Any

from ..errors import ModelError
from .base import ChatRequest, TokenLogprob

_ANCHORS = (":", "\n", ".")
"""Texts after which a label is tokenised: its first token at a text's very start may be another one."""
_MARK = "\ue8f1"
"""Stands for the name of a special token inside a message while the template is filled (a private-use character)."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One request as tokens."""

    request: ChatRequest
    prompt: tuple[int, ...]
    spellings: tuple[tuple[int, ...], ...] = ()
    """For label logits: ways to spell the labels, each as the first token of every label."""


@dataclasses.dataclass(frozen=True)
class Said:
    """What the model generated for one job."""

    text: str
    tokens: int
    cut: bool
    """It ended at max_tokens, or where the window was full."""
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclasses.dataclass
class Engine:
    """A loaded model. To be used from one thread at a time."""

    model: Any
    tokenizer: Any
    ends: frozenset[int]
    """Tokens at which a text ends."""
    window: int
    """Tokens of prompt and answer together."""

    def __post_init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._takes = frozenset(inspect.signature(self.model.forward).parameters)
        added = getattr(self.tokenizer, "added_tokens_decoder", {}).values()
        names = sorted((str(token) for token in added if token.special and str(token)), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, names))) if names else None
        self._spellings: dict[tuple[str, ...], tuple[tuple[int, ...], ...]] = {}

    # From requests to tokens

    def job(self, request: ChatRequest) -> Job:
        """The request as tokens. Raises `ModelError` for a prompt that does not fit into the window, for text that is
        no Unicode, and for labels that cannot be told apart by their first tokens."""
        prompt = tuple(self._prompt(request))
        room = self.window - (0 if request.labels else 1)
        if not 1 <= len(prompt) <= room:
            raise ModelError(f"the prompt has {len(prompt)} tokens, the model's window is {self.window}")
        return Job(request, prompt, self._labels(request.labels) if request.labels else ())

    def _prompt(self, request: ChatRequest) -> list[int]:
        turns = [{"role": message.role, "content": message.content} for message in request.messages]
        try:
            "".join(turn["content"] for turn in turns).encode()
        except UnicodeEncodeError as error:
            raise ModelError(f"the prompt holds a lone surrogate and cannot be read: {error.reason}") from error
        found: list[str] = []
        for turn in turns:
            turn["content"] = self._hidden(turn["content"], found)
        templated = bool(getattr(self.tokenizer, "chat_template", None))
        text = self._templated(turns, request) if templated else "\n\n".join(turn["content"] for turn in turns)
        if not found:
            return self.tokenizer(text, add_special_tokens=not templated)["input_ids"]
        ids: list[int] = []
        for place, part in enumerate(re.split(f"{_MARK}(\\d+){_MARK}", text)):
            if place % 2:
                part = found[int(part)]
            settings = {"split_special_tokens": True} if place % 2 else {}
            first = not templated and place == 0
            ids += self.tokenizer(part, add_special_tokens=first, **settings)["input_ids"] if part or first else []
        return ids

    def _hidden(self, content: str, found: list[str]) -> str:
        """The content with a mark for each name of a special token: what is only quoted must not end a turn."""

        def mark(match: re.Match[str]) -> str:
            found.append(match.group())
            return f"{_MARK}{len(found) - 1}{_MARK}"

        return content if self._special is None or _MARK in content else self._special.sub(mark, content)

    def _templated(self, turns: list[dict[str, str]], request: ChatRequest) -> str:
        """The turns by the model's own template; without a system turn where it knows none."""
        settings: dict[str, Any] = {"tokenize": False, "add_generation_prompt": True}
        if request.labels:
            settings["enable_thinking"] = False  # the label has to come next
        try:
            text = self.tokenizer.apply_chat_template(turns, **settings)
        except Exception as first:  # what a template raises
            try:
                text = self.tokenizer.apply_chat_template(_without_system(turns), **settings)
            except Exception:
                raise ModelError(f"the model's chat template refuses the messages: {first}") from first
        if request.labels and text.rstrip().endswith("<think>"):
            raise ModelError("the model's chat template begins with reasoning: labels cannot come next")
        return text

    def _labels(self, labels: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        if labels not in self._spellings:
            self._spellings[labels] = self._spelled(labels)
        return self._spellings[labels]

    def _spelled(self, labels: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """First tokens of the labels without and with a leading space, where they differ from each other."""
        ways = [tuple(self._first(space + label.strip()) for label in labels) for space in ("", " ")]
        usable = tuple(dict.fromkeys(way for way in ways if len(set(way)) == len(labels)))
        if len(labels) < 2 or not usable:
            raise ModelError(f"the labels {', '.join(map(repr, labels))} begin with the same token: no logits differ")
        return usable

    def _first(self, text: str) -> int:
        for anchor in _ANCHORS:
            before = self.tokenizer(anchor, add_special_tokens=False)["input_ids"]
            whole = self.tokenizer(anchor + text, add_special_tokens=False)["input_ids"]
            if whole[: len(before)] == before and len(whole) > len(before):
                return whole[len(before)]
        alone = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not alone:
            raise ModelError(f"the label {text!r} has no tokens")
        return alone[0]

    # Label logits

    def compare(self, jobs: Sequence[Job]) -> list[tuple[float, ...] | ModelError]:
        """Log-probabilities of each job's labels among themselves, in order: one forward pass, nothing generated.

        A label is as likely as its spellings together, "True" and " True": one that the model would not begin an answer
        with at this place adds next to nothing.
        """
        with self._torch.inference_mode():
            logits = self._forward(self._padded(jobs)).logits[:, -1].double().cpu()
        return [self._compared(job, row) for job, row in zip(jobs, logits, strict=True)]

    def _compared(self, job: Job, row: Any) -> tuple[float, ...] | ModelError:
        tokens = [sorted(set(spelled)) for spelled in zip(*job.spellings, strict=True)]
        values = self._torch.stack([row[spelled].logsumexp(0) for spelled in tokens]).log_softmax(0).tolist()
        return tuple(values) if all(map(math.isfinite, values)) else ModelError("the model's logits are not finite")

    # Text

    def generate(self, jobs: Sequence[Job]) -> list[Said | ModelError]:
        """What the model says to each job: greedy at temperature 0, else sampled with a generator of the job's own."""
        texts = [_Text(self, job) for job in jobs]
        with self._torch.inference_mode():
            inputs = self._padded(jobs)
            while True:
                output = self._forward(inputs)
                logits = output.logits[:, -1].float().cpu()
                for text, row in zip(texts, logits, strict=True):
                    text.advance(row)
                if all(text.done for text in texts):
                    return [text.said() for text in texts]
                inputs = self._next(inputs, [text.last for text in texts], output)

    def _padded(self, jobs: Sequence[Job]) -> dict[str, Any]:
        """Prompts side by side, padded on the left and masked there; positions count from each prompt's first token."""
        longest = max(len(job.prompt) for job in jobs)
        gaps = [longest - len(job.prompt) for job in jobs]
        rows = [[0] * gap + list(job.prompt) for gap, job in zip(gaps, jobs, strict=True)]
        mask = [[0] * gap + [1] * (longest - gap) for gap in gaps]
        make = self._torch.tensor
        inputs = {
            "input_ids": make(rows, device=self.model.device),
            "attention_mask": make(mask, device=self.model.device),
        }
        inputs["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        inputs["use_cache"] = not all(job.request.labels for job in jobs)
        return inputs

    def _next(self, inputs: dict[str, Any], tokens: list[int], output: Any) -> dict[str, Any]:
        mask = inputs["attention_mask"]
        step: dict[str, Any] = {
            "input_ids": self._torch.tensor([[token] for token in tokens], device=self.model.device),
            "attention_mask": self._torch.cat([mask, self._torch.ones_like(mask[:, :1])], dim=1),
            "position_ids": inputs["position_ids"][:, -1:] + 1,
            "use_cache": True,
        }
        name = "cache" if "cache" in self._takes else "past_key_values"  # the older name
        step[name] = output[name]
        return step

    def _forward(self, inputs: dict[str, Any]) -> Any:
        """Logits of the last position only, where the model can be told so."""
        known = {name: value for name, value in inputs.items() if name in self._takes}
        if "logits_to_keep" in self._takes:
            known["logits_to_keep"] = 1
        return self.model(**known)


class _Text:
    """One text of a batch while it grows."""

    def __init__(self, engine: Engine, job: Job) -> None:
        self.engine, self.request = engine, job.request
        self.most = min(job.request.max_tokens, engine.window - len(job.prompt))
        self.tokens: list[int] = []
        self.logprobs: list[TokenLogprob] = []
        self.done, self.ended, self.text = False, False, ""
        self.trouble: ModelError | None = None
        self.last = 0
        self.random = engine._torch.Generator().manual_seed(_seed(job))
        self.full = self.most < job.request.max_tokens

    def advance(self, logits: Any) -> None:
        """Take the next token; what comes after the end is thrown away."""
        if self.done:
            return
        if not bool(logits.isfinite().any()) or bool(logits.isnan().any()):
            self.done, self.trouble = True, ModelError("the model's logits are not finite")
            return
        self.last = self._choose(logits)
        if self.last in self.engine.ends:
            self.done = self.ended = True
        else:
            self.tokens.append(self.last)
            if self.request.top_logprobs is not None:
                self.logprobs.append(self._logprob(logits))
            self._look()
            self.done = self.ended or len(self.tokens) >= self.most

    def said(self) -> Said | ModelError:
        if self.trouble is not None:
            return self.trouble
        if not self.ended and self.full:
            return ModelError(f"the answer did not end within the model's window of {self.engine.window} tokens")
        if not self.request.stop:
            self.text = self._decoded()
        return Said(self.text, len(self.tokens), not self.ended, tuple(self.logprobs))

    def _choose(self, logits: Any) -> int:
        if self.request.temperature <= 0:
            return int(logits.argmax())
        torch = self.engine._torch
        chances = (logits.double() / self.request.temperature).softmax(0)
        if self.request.top_p is not None and self.request.top_p < 1:
            ordered, places = chances.sort(descending=True, stable=True)
            ordered[ordered.cumsum(0) - ordered >= self.request.top_p] = 0  # the first token always stays
            return int(places[torch.multinomial(ordered, 1, generator=self.random)])
        return int(torch.multinomial(chances, 1, generator=self.random))

    def _logprob(self, logits: Any) -> TokenLogprob:
        values = logits.log_softmax(0)
        best, places = values.topk(min(self.request.top_logprobs or 0, len(values)))
        top = [(self._piece(place), value) for place, value in zip(places.tolist(), best.tolist(), strict=True)]
        own = (self._piece(self.last), values[self.last].item())
        if self.last not in places.tolist():
            top.append(own)
        return TokenLogprob(token=own[0], logprob=own[1], top=tuple(top))

    def _piece(self, token: int) -> str:
        """A token's text, its leading space too, which decoding a first token may drop."""
        name = self.engine.tokenizer.convert_ids_to_tokens(token) or ""
        text = self.engine.tokenizer.decode([token], clean_up_tokenization_spaces=False)
        return f" {text}" if name.startswith("▁") and not text.startswith(" ") else text

    def _look(self) -> None:
        """End at the first stop text."""
        if not self.request.stop:
            return
        self.text = self._decoded()
        places = [place for place in (self.text.find(end) for end in self.request.stop if end) if place >= 0]
        if places:
            self.ended, self.text = True, self.text[: min(places)]
            length = len(self.text)
            while self.logprobs and sum(len(one.token) for one in self.logprobs[:-1]) >= length:
                self.logprobs.pop()

    def _decoded(self) -> str:
        decode = self.engine.tokenizer.decode
        return decode(self.tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def _seed(job: Job) -> int:
    """Of the request and its prompt: a run repeats, and two prompts do not share their luck."""
    said = repr((job.prompt, job.request.seed or 0, job.request.sample)).encode()
    return int.from_bytes(hashlib.sha256(said).digest()[:7])


def _without_system(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    rest = [dict(turn) for turn in turns if turn["role"] != "system"]
    if rest and system:
        rest[0]["content"] = "\n\n".join([*system, rest[0]["content"]])
    return rest
