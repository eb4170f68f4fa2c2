"""The judge with a trained encoder: it reads windows of the evidence against the fact, offline and without a key.

The encoder (`cross_encoder.py`) reads each window (`windows.py`), and the readings are brought together. Where the
folder holds `joined.json`, small fitted trees (`joined.py`) weigh them along with the numbers of the feature judge
(`features.py`); where it does not, the encoder decides alone by the thresholds of its card. docs/verifier.md is the
model card.

How its labels map to ours: supported at or above the threshold; below it contradicted where the evidence is read as
contradicting, else not_enough_evidence; never irrelevant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import StageError
from ..failures import failure
from ..text.normal import STOPWORDS, tokens
from ..types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Quote, Verdict
from . import cross_encoder
from . import joined as joins
from .cross_encoder import FOLDER, CrossEncoder
from .embedded import EmbeddedJudge, Library, rationale
from .features import FEATURES, Claim, Match
from .joined import ENCODED, Joined
from .windows import RULES, Line, Window, lines, windows

_QUOTES = 3
"""Sentences that a verdict quotes at most."""


@dataclass(frozen=True)
class Reading:
    """What the encoder makes of a fact: its windows, and of each the probabilities of `cross_encoder.CLASSES`."""

    windows: tuple[Window, ...]
    chances: NDArray[np.float64]
    """[windows, 3]"""

    @property
    def supporting(self) -> int:
        """The window that supports most."""
        return int(self.chances[:, 0].argmax())

    @property
    def telling(self) -> int:
        """The window that says most of the fact, for or against."""
        return int(self.chances[:, 2].argmin())

    @property
    def supported(self) -> float:
        """The most that any window gives: the evidence for a fact stands in one place."""
        return float(self.chances[self.supporting, 0])

    @property
    def contradicted(self) -> float:
        """P(contradicted given not supported) by the window that says most of it."""
        _, contradicted, unknown = self.chances[self.telling]
        return float(contradicted / max(contradicted + unknown, 1e-12))

    @property
    def row(self) -> list[float]:
        """The values of `joined.ENCODED`."""
        odds = np.log(self.chances + 1e-9) - np.log1p(1e-9 - self.chances)
        return [*odds[self.supporting], *odds[self.telling], *odds[0], float(len(self.windows))]


@dataclass(frozen=True)
class TrainedJudge:
    """A `Verifier` that needs no network and no language model."""

    encoder: CrossEncoder = field(default_factory=cross_encoder.load)
    features: EmbeddedJudge = field(default_factory=EmbeddedJudge)
    joined: Joined | None = None
    """Weighs encoder and features together; None: the encoder alone decides."""
    rules: int = RULES
    """How windows are made (`windows.RULES`)."""

    @property
    def name(self) -> str:
        return f"embedded/{self.joined.name if self.joined else self.encoder.name}"

    @property
    def warning(self) -> str:
        return self.encoder.card.warning

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """A verdict for each fact, in order; a `Failure` for a fact without a word, or too long to be read whole.

        Deterministic: neither the other facts nor the number of threads change a verdict.
        """
        return await asyncio.to_thread(self.judge, facts, generation)

    def judge(self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation) -> list[Verdict | Failure]:
        """`verify`, in this thread."""
        laid = self._lay(facts, generation.topic or "")
        going = [at for at, one in enumerate(laid) if isinstance(one, tuple)]
        readings = self.read([(facts[at][0].text, facts[at][1].passages) for at in going])
        made = dict(zip(going, readings, strict=True))
        rows = [[*made[at].row, *laid[at][1].values] for at in going]  # pyright: ignore[reportIndexIssue]
        odds = dict(zip(going, self._odds(readings, rows), strict=True))
        return [
            self._verdict(fact.text, evidence.passages, *one, made[at], *odds[at]) if isinstance(one, tuple) else one
            for at, ((fact, evidence), one) in enumerate(zip(facts, laid, strict=True))
        ]

    def read(self, pairs: Sequence[tuple[str, Sequence[Passage]]]) -> list[Reading]:
        """Each claim read against its evidence, which must hold a word. Passages are cut into sentences once a call."""
        card = self.encoder.card
        cut: dict[tuple[int, str], tuple[Line, ...]] = {}
        found: list[list[Window]] = []
        for claim, passages in pairs:
            for number, passage in enumerate(passages):
                if (number, passage.text) not in cut:
                    cut[number, passage.text] = lines(number, passage, card.words)
            held = [line for number, passage in enumerate(passages) for line in cut[number, passage.text]]
            found.append(windows(claim, held, words=card.words, most=card.windows))
        asked = [(window.text, claim) for (claim, _), of in zip(pairs, found, strict=True) for window in of]
        unique = list(dict.fromkeys(asked))
        known = dict(zip(unique, np.exp(self.encoder.read(unique)), strict=True))
        return [
            Reading(tuple(of), np.array([known[window.text, claim] for window in of]))
            for (claim, _), of in zip(pairs, found, strict=True)
        ]

    def _lay(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], topic: str
    ) -> list[tuple[Claim, Match] | Verdict | Failure]:
        """Each fact laid against its evidence by words; final for one without evidence, without a word, or too long."""
        library = Library()
        fitting = self.encoder.fits([fact.text for fact, _ in facts])
        made: list[tuple[Claim, Match] | Verdict | Failure] = []
        for (fact, evidence), fits in zip(facts, fitting, strict=True):
            if fits:
                one = self.features.lay(fact.text, evidence.passages, topic, library)
                made.append(msgspec.structs.replace(one, judge=self.name) if isinstance(one, Verdict) else one)
            else:
                most = self.encoder.longest_claim
                made.append(failure("verify", StageError(f"the fact is longer than the {most} tokens read as one")))
        return made

    def _odds(self, readings: Sequence[Reading], rows: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
        """P(supported), and P(contradicted given not supported), of each fact."""
        if self.joined is None:
            return [(reading.supported, reading.contradicted) for reading in readings]
        table = np.array(rows, float).reshape(len(rows), len(ENCODED) + len(FEATURES))
        supported, contradicted = self.joined.probabilities(table)
        return list(zip(supported.tolist(), contradicted.tolist(), strict=True))

    def _verdict(
        self,
        text: str,
        passages: Sequence[Passage],
        claim: Claim,
        match: Match,
        reading: Reading,
        supported: float,
        contradicted: float,
    ) -> Verdict:
        rule = self.joined.weights if self.joined else self.encoder.card
        if supported >= rule.threshold:
            label, window = Label.SUPPORTED, reading.supporting
        elif contradicted >= rule.contradiction_threshold:
            label, window = Label.CONTRADICTED, reading.telling
        else:
            label, window = Label.NOT_ENOUGH_EVIDENCE, reading.supporting
        lead = (
            f"Of {len(reading.windows)} windows of the evidence the one quoted supports the fact"
            if len(reading.windows) > 1
            else "The evidence supports the fact"
        )
        yes, no, _ = reading.chances[window]
        return Verdict(
            label=label,
            judge=self.name,
            probability=supported,
            mode="encoder and features" if self.joined else "encoder",
            rationale=f"{lead} with {yes:.2f} and contradicts it with {no:.2f}. "
            + rationale(text, passages, claim, match),
            quotes=_quotes(text, reading.windows[window], passages),
        )


def _quotes(text: str, window: Window, passages: Sequence[Passage]) -> tuple[Quote, ...]:
    """The sentences of a window that share most words with the fact, in their order; its first if none shares any."""
    wanted = set(tokens(text)) - STOPWORDS
    shared = [len(wanted & line.held) for line in window.lines]
    best = sorted(range(len(shared)), key=lambda at: (-shared[at], at))[:_QUOTES]
    chosen = [at for at in sorted(best) if shared[at]] or [0]
    return tuple(
        Quote(passage=passages[line.passage].id, start=line.start, end=line.end)
        for line in (window.lines[at] for at in chosen)
    )


def open_judge(folder: Path = FOLDER, threads: int = 0) -> TrainedJudge:
    """The judge in a folder, with its joined trees if it has them. UsageError if the folder holds none."""
    encoder = cross_encoder.load(folder, threads)
    path = folder / "joined.json"
    return TrainedJudge(encoder, joined=joins.load(path, encoder.fingerprint) if path.exists() else None)


def offline_judge(folder: Path = FOLDER) -> TrainedJudge | EmbeddedJudge:
    """The best judge that this installation has: the trained one where its weights are, else that of the features."""
    return open_judge(folder) if cross_encoder.present(folder) else EmbeddedJudge()
