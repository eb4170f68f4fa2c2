"""Measure the embedded judge and print the tables of README.md. Under two minutes of one core, ten with --ablation.

    OMP_NUM_THREADS=1 .venv/bin/python experiments/judge/evaluate.py [--ablation]

Positive is "supported". The judge runs as shipped, at its own threshold; "cross-fit" columns choose the threshold for
balanced accuracy on four fifths of the clusters and apply it to the fifth. Intervals: 95 %, bootstrap over clusters.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable

import numpy as np
from pairs import Pair, measured_sets, training
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score

from veridical.types import AtomicFact, Evidence, Failure, Generation, Label, Passage, Verdict
from veridical.verifiers.embedded import EmbeddedJudge, Library, lexical_coverage
from veridical.verifiers.features import FEATURES
from veridical.verifiers.reading import read

SAMPLES = 2000


def judge_all(pairs: list[Pair], judge: EmbeddedJudge) -> tuple[list[Verdict], float]:
    """Verdicts in order, and CPU seconds. Pairs of one cluster are one generation, as in a run."""
    verdicts: list[Verdict | Failure | None] = [None] * len(pairs)
    started = time.process_time()
    for cluster in dict.fromkeys(pair.cluster for pair in pairs):
        own = [i for i, pair in enumerate(pairs) if pair.cluster == cluster]
        facts = [
            (AtomicFact(id=str(i), text=pairs[i].claim, sentence=0), Evidence(passages=passages(pairs[i]))) for i in own
        ]
        for i, verdict in zip(own, asyncio.run(judge.verify(facts, Generation(id="g", text=""))), strict=True):
            verdicts[i] = verdict
    seconds = time.process_time() - started
    return [verdict for verdict in verdicts if isinstance(verdict, Verdict)], seconds


def passages(pair: Pair) -> tuple[Passage, ...]:
    return tuple(Passage(id=str(i), title=title, text=text) for i, (title, text) in enumerate(pair.passages))


def best_sentence(pair: Pair) -> float:
    return max(lexical_coverage(pair.claim, text[u.start : u.end]) for _, text in pair.passages for u in read(text))


def whole(pair: Pair) -> float:
    return lexical_coverage(pair.claim, "\n".join(text for _, text in pair.passages))


def numbers_and_names(pair: Pair) -> float:
    """Share of the claim's numbers and capitalised words that occur in the evidence; 1 if it has none."""
    wanted = {w.stem for unit in read(pair.claim) for w in unit.words if w.number or (w.capital and w.content)}
    found = {word.stem for _, text in pair.passages for unit in read(text) for word in unit.words}
    return len(wanted & found) / len(wanted) if wanted else 1.0


BASELINES: dict[str, Callable[[Pair], float]] = {
    "words, passage": whole,
    "words, best sentence": best_sentence,
    "numbers and names": numbers_and_names,
}


def cross_fit(score: np.ndarray, positive: np.ndarray, clusters: Iterable[str]) -> np.ndarray:
    """Decisions, each by a threshold chosen without its own fold of clusters."""
    fold = np.array([hashlib.sha256(cluster.encode()).digest()[0] % 5 for cluster in clusters])
    decided = np.zeros(len(score), bool)
    for k in range(5):
        rest = fold != k
        candidates = np.unique(np.quantile(score[rest], np.linspace(0, 1, 201)))
        accuracy = [balanced_accuracy_score(positive[rest], score[rest] >= t) for t in candidates]
        decided[~rest] = score[~rest] >= candidates[int(np.argmax(accuracy))]
    return decided


def interval(decided: np.ndarray, positive: np.ndarray, clusters: Iterable[str]) -> tuple[float, float]:
    """95 % interval of balanced accuracy, resampling clusters."""
    _, index = np.unique(list(clusters), return_inverse=True)
    parts = [decided & positive, positive, ~decided & ~positive, ~positive]
    sums = np.stack([np.bincount(index, weights=part) for part in parts])
    draws = np.random.default_rng(0).multinomial(sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), SAMPLES)
    hit, yes, miss, no = sums @ draws.T
    return tuple(np.quantile((hit / yes + miss / no) / 2, [0.025, 0.975]))  # pyright: ignore


def calibration_error(probability: np.ndarray, positive: np.ndarray) -> float:
    """Expected calibration error, ten bins of equal width."""
    bins = np.minimum((probability * 10).astype(int), 9)
    return float(sum(abs((probability - positive)[bins == b].sum()) for b in range(10)) / len(probability))


def sets() -> dict[str, list[Pair]]:
    found = measured_sets()
    bench = found["Factcheck-Bench"]
    refuted = [pair for pair in bench if pair.label != "not_enough"]
    return {"Factcheck-Bench": bench, "Factcheck-Bench, refuted only": refuted} | {
        name: pairs for name, pairs in found.items() if name != "Factcheck-Bench"
    }


def quality(judge: EmbeddedJudge) -> None:
    print(
        "| set | n (supported) | clusters | majority | "
        + " | ".join(BASELINES)
        + " | judge [95 %] | cross-fit | AUC | F1 |"
    )
    print("|" + "---|" * (9 + len(BASELINES)))
    second = [
        "| set | said supported of supported | of contradicted | of not enough | said contradicted of contradicted "
        "| of not enough | Brier | ECE | facts per CPU s |",
        "|" + "---|" * 9,
    ]
    for name, pairs in sets().items():
        positive = np.array([pair.label == "supported" for pair in pairs])
        clusters = [pair.cluster for pair in pairs]
        verdicts, seconds = judge_all(pairs, judge)
        score = np.array([verdict.probability for verdict in verdicts], float)
        said = np.array([verdict.label == Label.SUPPORTED for verdict in verdicts])
        low, high = interval(said, positive, clusters)
        lexical = []
        for baseline in BASELINES.values():
            values = np.array([baseline(pair) for pair in pairs])
            accuracy = balanced_accuracy_score(positive, cross_fit(values, positive, clusters))
            lexical.append(f"{accuracy:.3f} (AUC {roc_auc_score(positive, values):.3f})")
        print(
            f"| {name} | {len(pairs)} ({positive.sum()}) | {len(set(clusters))} | .500 | {' | '.join(lexical)} | "
            f"**{balanced_accuracy_score(positive, said):.3f}** [{low:.3f}, {high:.3f}] | "
            f"{balanced_accuracy_score(positive, cross_fit(score, positive, clusters)):.3f} | "
            f"{roc_auc_score(positive, score):.3f} | {f1_score(positive, said):.3f} |",
            flush=True,
        )
        label = np.array([pair.label for pair in pairs])
        against = np.array([verdict.label == Label.CONTRADICTED for verdict in verdicts])

        def share(part: np.ndarray, of: str, label: np.ndarray = label) -> str:
            return f"{part[label == of].mean():.2f}" if (label == of).any() else "-"

        second.append(
            f"| {name} | {share(said, 'supported')} | {share(said, 'contradicted')} | {share(said, 'not_enough')} | "
            f"{share(against, 'contradicted')} | {share(against, 'not_enough')} | "
            f"{np.mean((score - positive) ** 2):.3f} | {calibration_error(score, positive):.3f} | "
            f"{len(pairs) / seconds:.0f} |"
        )
    print("", *second, sep="\n")


def ablation(judge: EmbeddedJudge) -> None:
    """Balanced accuracy (cross-fit) and AUC with one group of features left out, the trees grown anew."""
    from fit import LEAVES, RATE, TREES, Reader, balanced_weights, grow, rows

    pairs = list(training())
    weights = judge.fitted.weights
    x = rows(pairs, weights.idf, weights.rarest, Reader())
    supported = np.array([pair.label == "supported" for pair in pairs])
    balance = balanced_weights(supported, np.array([pair.source for pair in pairs]), ~np.array([p.dev for p in pairs]))
    measured = {name: (found, np.array([laid(pair, judge) for pair in found])) for name, found in sets().items()}
    print(f"\n| left out ({TREES} trees of {LEAVES} leaves, rate {RATE}) | " + " | ".join(measured) + " |")
    print("|" + "---|" * (1 + len(measured)))
    for left_out in ("nothing", *dict.fromkeys(group for group, _ in FEATURES.values())):
        kept = np.array([group != left_out for group, _ in FEATURES.values()])
        model = grow(np.where(kept, x, 0.0), supported, balance, trees=TREES, monotone=True)
        cells = []
        for found, values in measured.values():
            positive = np.array([pair.label == "supported" for pair in found])
            score = model.decision_function(np.where(kept, values, 0.0))
            decided = cross_fit(score, positive, [pair.cluster for pair in found])
            cells.append(f"{balanced_accuracy_score(positive, decided):.3f} / {roc_auc_score(positive, score):.3f}")
        print(f"| {left_out} | " + " | ".join(cells) + " |", flush=True)


def laid(pair: Pair, judge: EmbeddedJudge) -> list[float]:
    found = judge.lay(pair.claim, passages(pair), "", Library())
    assert isinstance(found, tuple)
    return found[1].values


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ablation", action="store_true")
    shipped = EmbeddedJudge()
    quality(shipped)
    if parser.parse_args().ablation:
        ablation(shipped)
