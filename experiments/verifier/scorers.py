"""Whatever says how likely a claim is supported, by one call, with its scores kept on disk.

A scorer is named on the command line: `overlap`, `cosine`, `features`, `smollm2`, `torch:PATH` (a checkpoint of
train.py) or `reader:FOLDER` (what export.py writes).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mix import window
from sets import Item

from veridical.models.embedded import home
from veridical.text.sentences import split
from veridical.types import AtomicFact, Evidence, Failure, Generation, Passage, Verdict

BLOCK = 64
"""Items between two writes to disk."""


@dataclass(frozen=True)
class Scorer:
    """`score` gives P(supported), or any number that is higher for supported, of each item."""

    name: str
    identity: str
    """Everything that can move a score: names the file of kept scores."""
    score: Callable[[Sequence[Item]], list[float]]
    threshold: float | None = None
    """The one it is shipped with."""
    sample: int | None = None
    """Items of each set that it is asked at most."""


def kept(scorer: Scorer, items: Sequence[Item], folder: Path) -> np.ndarray:
    """The scores of items in order; what is on disk is not asked again, and nothing new is lost by a stop."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha1(scorer.identity.encode()).hexdigest()[:16]}.jsonl"
    known: dict[str, float] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:  # torn by a stop
                continue
            if "key" in row:
                known[row["key"]] = row["score"]
    else:
        path.write_text(json.dumps({"scorer": scorer.identity}) + "\n", encoding="utf-8")
    missing = [item for item in {item.key: item for item in items}.values() if item.key not in known]
    with path.open("a", encoding="utf-8") as file:
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            for item, score in zip(block, scorer.score(block), strict=True):
                known[item.key] = float(score)
                file.write(json.dumps({"key": item.key, "score": float(score)}) + "\n")
            file.flush()
    return np.array([known[item.key] for item in items])


def facts(items: Sequence[Item]) -> list[tuple[AtomicFact, Evidence]]:
    return [
        (
            AtomicFact(id=str(at), text=item.claim, sentence=0),
            Evidence(passages=(Passage(id="p", text=item.evidence),) if item.evidence.strip() else ()),
        )
        for at, item in enumerate(items)
    ]


def chances(verdicts: Sequence[Verdict | Failure]) -> list[float]:
    """P(supported) of each; who fails has not found support."""
    return [one.probability or 0.0 if isinstance(one, Verdict) else 0.0 for one in verdicts]


def overlap() -> Scorer:
    from veridical.verifiers.embedded import lexical_coverage

    return Scorer(
        "lexical overlap", "overlap 1", lambda items: [lexical_coverage(item.claim, item.evidence) for item in items]
    )


def cosine() -> Scorer:
    """Of the claim and that sentence, of the 120 words that share most with it, which is nearest."""
    from veridical.models.encoders import open_encoder

    encoder = open_encoder("embedded/minilm")

    def score(items: Sequence[Item]) -> list[float]:
        near = [[s.text for s in split(window(item.claim, item.evidence))] or [""] for item in items]
        vectors = encoder.passages([text for texts in near for text in texts])
        claims = encoder.queries([item.claim for item in items])
        ends = np.cumsum([0, *map(len, near)])
        return [
            float((vectors[start:end] @ claim).max()) for claim, start, end in zip(claims, ends, ends[1:], strict=False)
        ]

    return Scorer("MiniLM cosine", f"cosine 1 {encoder.identity}", score)


def features() -> Scorer:
    from veridical.verifiers.embedded import EmbeddedJudge

    judge = EmbeddedJudge()
    return Scorer(
        "feature judge",
        f"features {judge.fitted.fingerprint} {judge.rules}",
        lambda items: chances(asyncio.run(judge.verify(facts(items), Generation(id="g", text="")))),
        judge.fitted.weights.threshold,
    )


def smollm2() -> Scorer:
    from veridical.models.factory import open_model
    from veridical.verify import RetrieveVerifier

    verifier = RetrieveVerifier(model=open_model("embedded/smollm2", concurrency=1))
    runner = asyncio.Runner()  # the model's limits belong to one loop

    def score(items: Sequence[Item]) -> list[float]:
        near = [item._replace(evidence=window(item.claim, item.evidence)) for item in items]
        return chances(runner.run(verifier.verify(facts(near), Generation(id="g", text=""))))

    return Scorer("SmolLM2", f"smollm2 1 {verifier.name}", score, 0.5, sample=200)


def checkpoint(path: Path) -> Scorer:
    """A checkpoint in 32 bits by torch, on the window of training alone."""
    import torch
    from export import restored
    from train import step_of, tokenizer

    encoder = home() / "models" / "minilm"
    model, cut = restored(path, encoder), tokenizer(encoder)

    def score(items: Sequence[Item]) -> list[float]:
        found = []
        for item in items:
            one = cut.encode(window(item.claim, item.evidence), item.claim)
            inputs = {"input_ids": one.ids, "attention_mask": one.attention_mask, "token_type_ids": one.type_ids}
            with torch.no_grad():
                logits = model(**{name: torch.tensor([value]) for name, value in inputs.items()}).logits
            found.append(float(logits.softmax(-1)[0, 0]))
        return found

    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Scorer(f"torch, step {step_of(path)}", f"torch {digest}", score)


def reader(folder: Path) -> Scorer:
    """What is shipped: the judge of a folder with its windows and, if it has them, its joined trees."""
    from veridical.signature import sign
    from veridical.verifiers.trained import open_judge

    judge = open_judge(folder, threads=1)
    rule = judge.joined.weights if judge.joined else judge.encoder.card
    return Scorer(
        f"{judge.name} {judge.encoder.fingerprint[:4]}",
        json.dumps(sign(judge).fields, sort_keys=True),
        lambda items: chances(judge.judge(facts(items), Generation(id="g", text=""))),
        rule.threshold,
    )


def scorer(name: str) -> Scorer:
    """The scorer of that name (see the module)."""
    kind, _, where = name.partition(":")
    plain = {"overlap": overlap, "cosine": cosine, "features": features, "smollm2": smollm2}
    if kind in plain and not where:
        return plain[kind]()
    if kind in ("torch", "reader") and where:
        return (checkpoint if kind == "torch" else reader)(Path(where))
    raise SystemExit(f"no scorer {name!r}")
