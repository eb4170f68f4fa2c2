"""The nonparametric probability of a fact (FActScore, section 4.1 and appendix B.1; after NPM, Min et al. 2022).

    P_i = Σ_{j: t_j = x_i} exp(⟨q_i, p_j⟩ / √d) / Σ_j exp(⟨q_i, p_j⟩ / √d),    NP = mean_i P_i

x_i are the tokens of the fact without stop words, q_i the last-layer vector where x_i is masked in "Fact: " + fact;
t_j and p_j are the tokens of the passages and their vectors, d is their length. In words: where would the model look in
the evidence for what the mask hides, and does it find the same token there?
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError, StageError, UsageError
from .failures import failure
from .models.token_encoder import MaskedTokens, TokenEncoder, TokenVectors
from .quotes import best_quote
from .text.normal import STOPWORDS, fold, is_blank
from .types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Verdict

THRESHOLD = 0.3
"""FActScore's, appendix B.1."""
LEAD = "Fact: "
BLIND = (
    "all-MiniLM-L6-v2 was not made for masks: as a nonparametric judge it tells nothing (AUC .52 on Fool Me Twice) and "
    "supports hardly any fact. Use --np-model hf/facebook/npm-single, the published one, or another masked model."
)
"""With the packaged encoder (docs/nonparametric.md)."""
_HALVES = {half for word in STOPWORDS for half in word.split("'")} | {"s", "m", "d", "ll", "re", "ve"}
"""Function words, and what tokenizers make of short forms: "isn't" is "isn", "'", "t"."""
_CHUNK_BYTES = 2**26
_SCORE_BYTES = 24
"""A score in float64, its exponential, and whether its token is the target, with room."""


@functools.lru_cache(maxsize=2**14)
def is_stop(text: str, word: str = "") -> bool:
    """Whether a token says too little to be judged by: no letter or digit in it, or a function word or half of a short
    form as the `word` that it is a piece of (the "in" of "Tur", "in" counts; of "wi", "thin" neither does).

    By text, so that any vocabulary will do. FActScore's code has a list of 211 ids of RoBERTa's vocabulary in its
    place, which are punctuation and function words in lower case behind a blank.
    """
    whole = fold(word or text).strip("'\"")
    return whole in STOPWORDS or whole in _HALVES or not any(char.isalnum() for char in text)


def nonparametric_probability(
    target_ids: NDArray[np.int64],
    target_vectors: NDArray[np.floating],
    ids: NDArray[np.int64],
    vectors: NDArray[np.floating],
    *,
    scale: float | None = None,
) -> NDArray[np.float64]:
    """P_i of each target, (m,), in [0, 1]; 0 for a token that the passages do not hold.

    `target_ids` (m,) with `target_vectors` (m, d) at their masks; `ids` (n,) and `vectors` (n, d) of all passages
    together. Inner products are divided by `scale`, None = √d. In float64 with the largest score subtracted, so that no
    size of the vectors overflows. Raises `ModelError` for vectors that are not finite.
    """
    return _probability(*_log_sums(target_ids, target_vectors, ids, vectors, scale))


def _probability(total: NDArray[np.float64], match: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # -inf less -inf, where there is nothing at all
        return np.where(np.isneginf(match), 0.0, np.minimum(np.exp(match - total), 1.0))


def _log_sums(
    target_ids: NDArray[np.int64],
    target_vectors: NDArray[np.floating],
    ids: NDArray[np.int64],
    vectors: NDArray[np.floating],
    scale: float | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log Σ exp of each target's scores, over all tokens and over its own, (m,) each; -inf where there are none.

    In blocks: half of `_CHUNK_BYTES` for the tokens' vectors in float64, half for their scores.
    """
    total = np.full(len(target_ids), -np.inf)
    match = total.copy()
    columns = max(1, _CHUNK_BYTES // 2 // (8 * vectors.shape[1]))
    rows = max(1, _CHUNK_BYTES // 2 // (_SCORE_BYTES * min(columns, max(1, len(ids)))))
    for left in range(0, len(ids), columns):
        there = np.asarray(vectors[left : left + columns], np.float64)
        for top in range(0, len(target_ids), rows):
            here = slice(top, top + rows)
            with np.errstate(invalid="ignore"):
                scores = np.asarray(target_vectors[here], np.float64) @ there.T
            if not np.isfinite(scores).all():
                raise ModelError("the vectors of the tokens are not finite numbers")
            scores /= np.sqrt(vectors.shape[1]) if scale is None else scale
            most = scores.max(axis=1)
            np.exp(scores - most[:, None], out=scores)
            total[here] = np.logaddexp(total[here], most + np.log(scores.sum(axis=1)))
            scores[ids[None, left : left + columns] != target_ids[here, None]] = 0
            with np.errstate(divide="ignore"):  # the log of nothing, where the token is not there
                match[here] = np.logaddexp(match[here], most + np.log(scores.sum(axis=1)))
    return total, match


@dataclass(frozen=True)
class NPVerifier:
    """A `Verifier`: supported where NP, the mean over the fact's tokens, is greater than the threshold.

    Below it NOT_ENOUGH_EVIDENCE, never contradicted or irrelevant. The verdict's `probability` is NP, which is not the
    probability that the fact is supported: its threshold is .3 where that of other judges is one half, and NP of true
    and false facts lie close together. The mode is "np". Without evidence NOT_ENOUGH_EVIDENCE in mode "no evidence". A
    fact that is all stop words is a `Failure`.
    """

    encoder: TokenEncoder
    threshold: float = THRESHOLD
    """Supported above it; NP of just the threshold is not."""
    k: int = 3
    """Only the first `k` passages of the evidence are read."""
    scale: float | None = None
    """What inner products are divided by; None = √d, as published."""
    stop_ids: tuple[int, ...] | None = None
    """Ids of the encoder's vocabulary to pass over, such as FActScore's list; None = by word (`is_stop`)."""

    def __post_init__(self) -> None:
        if self.k < 1 or not 0 <= self.threshold <= 1 or (self.scale is not None and not self.scale > 0):
            raise UsageError(f"no such k, threshold or scale: {self.k}, {self.threshold}, {self.scale}")

    @property
    def name(self) -> str:
        return f"np({self.encoder.name})"

    @property
    def warning(self) -> str | None:
        """What must be printed with its scores."""
        return BLIND if self.encoder.name == "embedded/minilm" else None

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See `Verifier`. Trouble with the encoder is a failure of each fact of this call that has evidence."""
        shown = [self._shown(evidence) for _, evidence in facts]
        asked = [place for place, passages in enumerate(shown) if passages]
        nothing = Verdict(label=Label.NOT_ENOUGH_EVIDENCE, judge=self.name, mode="no evidence")
        outcomes: list[Verdict | Failure] = [nothing] * len(facts)
        if not asked:
            return outcomes
        try:
            masked, pages, probabilities = await self._measured(
                [facts[place][0].text for place in asked], [shown[place] for place in asked]
            )
        except StageError as error:
            for place in asked:
                outcomes[place] = failure("verify", error)
            return outcomes
        for place, tokens, p in zip(asked, masked, probabilities, strict=True):
            if not len(tokens.ids):
                outcomes[place] = failure("verify", StageError("the fact holds nothing but stop words"))
            elif any(len(pages[_text(passage)].ids) for passage in shown[place]):
                outcomes[place] = self._verdict(facts[place][0], shown[place], generation, tokens, p)
        return outcomes

    async def _measured(
        self, texts: list[str], shown: list[tuple[Passage, ...]]
    ) -> tuple[list[MaskedTokens], dict[str, TokenVectors], list[NDArray[np.float64]]]:
        """The masked tokens of each fact, the tokens of each passage by its text, and the P of each fact's tokens."""
        unique = list(dict.fromkeys(_text(passage) for passages in shown for passage in passages))
        pages = dict(zip(unique, await self.encoder.passages(unique), strict=True))
        masked = await self.encoder.masked(texts, functools.partial(_skipped, self.stop_ids), lead=LEAD)
        evidence = [[pages[_text(passage)] for passage in passages] for passages in shown]
        return masked, pages, await asyncio.to_thread(_together, masked, evidence, self.scale)

    def _shown(self, evidence: Evidence) -> tuple[Passage, ...]:
        return tuple(passage for passage in evidence.passages[: self.k] if not is_blank(passage.text))

    def _verdict(
        self,
        fact: AtomicFact,
        passages: tuple[Passage, ...],
        generation: Generation,
        tokens: MaskedTokens,
        p: NDArray[np.float64],
    ) -> Verdict:
        mean = float(p.mean())
        quote = best_quote(fact.text, passages, generation.topic)
        return Verdict(
            label=Label.SUPPORTED if mean > self.threshold else Label.NOT_ENOUGH_EVIDENCE,
            judge=self.name,
            probability=mean,
            mode="np",
            rationale=_rationale(tokens.names, p),
            quotes=(quote,) if quote else (),
        )


def _together(
    masked: Sequence[MaskedTokens], evidence: Sequence[Sequence[TokenVectors]], scale: float | None
) -> list[NDArray[np.float64]]:
    """P of the tokens of each fact by its own passages: one product for each passage with all facts that were shown it.

    Sums over passages are put together as logarithms; a text that a fact was shown twice counts once.
    """
    ids = np.concatenate([tokens.ids for tokens in masked])
    vectors = np.concatenate([tokens.vectors for tokens in masked])
    borders = np.cumsum([len(tokens.ids) for tokens in masked])[:-1]
    places = np.split(np.arange(len(ids)), borders)
    readers: dict[int, list[int]] = {}
    unique = {id(page): page for pages in evidence for page in pages}
    for number, pages in enumerate(evidence):
        for key in dict.fromkeys(map(id, pages)):
            readers.setdefault(key, []).append(number)
    total = np.full(len(ids), -np.inf)
    match = total.copy()
    for key, numbers in readers.items():
        rows = np.concatenate([places[number] for number in numbers])
        sums = _log_sums(ids[rows], vectors[rows], unique[key].ids, unique[key].vectors, scale)
        total[rows] = np.logaddexp(total[rows], sums[0])
        match[rows] = np.logaddexp(match[rows], sums[1])
    return np.split(_probability(total, match), borders)


def _skipped(stop_ids: tuple[int, ...] | None, token: int, text: str, word: str) -> bool:
    return is_stop(text, word) if stop_ids is None else token in stop_ids


def _text(passage: Passage) -> str:
    return passage.text.strip()


def _rationale(names: Sequence[str], p: NDArray[np.float64]) -> str:
    """The three tokens that the evidence makes least likely."""
    least = dict.fromkeys((names[place], _short(float(p[place]))) for place in np.argsort(p, kind="stable")[:3])
    return "least expected: " + ", ".join(f"'{name}' {short}" for name, short in least)


def _short(p: float) -> str:
    """Two digits without the leading zero."""
    return f"{p:.2f}".removeprefix("0")
