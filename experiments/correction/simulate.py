"""Do the intervals of corrected scores hold what they promise?

    python experiments/correction/simulate.py [--draws 2000] [--labelled 20]

First, FActScore's 496 labelled biographies (rule irrelevant-in): a judge is simulated whose sensitivity and specificity
differ by system, 20 answers of each system are labelled at random, and it is counted how often each 95 % interval holds
people's score; so for the differences between systems. Then WikiBio's 120 biographies (people's labels of sentences)
with the embedded judge as it is, which needs a run: `veridical score …/wikibio_gpt3/first120.jsonl --out runs/wikibio`.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

from veridical.agree import labelled
from veridical.correct import items
from veridical.correction import Item, corrected, difference
from veridical.folder import RunFolder
from veridical.inputs import read

DATA = Path("../shared/data")
JUDGES = {"InstructGPT": (0.95, 0.70), "ChatGPT": (0.90, 0.60), "PerplexityAI": (0.80, 0.85)}
METHODS = ("labels", "ppi", "rogan-gladen")


def answers(system: str) -> dict[str, np.ndarray]:
    """Topic -> which of its facts people found supported."""
    path = DATA / "factscore_labeled" / f"{system}.jsonl"
    found = [(generation.topic, labelled(system, generation)) for generation in read(str(path), facts="human")]
    return {
        topic: np.array([fact.label == "supported" for fact in one.facts]) for topic, one in found if one and one.facts
    }


def judged(rng: np.random.Generator, truth: np.ndarray, sensitivity: float, specificity: float) -> np.ndarray:
    return np.where(truth, rng.random(len(truth)) < sensitivity, rng.random(len(truth)) >= specificity)


def item(rng: np.random.Generator, key: str, truth: np.ndarray, judge: tuple[float, float], *, drawn: bool) -> Item:
    said = judged(rng, truth, *judge)
    if not drawn:
        return Item(key=key, judge=float(said.mean()))
    table = (truth & said).mean(), truth.mean(), (~truth & ~said).mean(), (~truth).mean()
    return Item(key=key, judge=float(said.mean()), people=float(truth.mean()), hits=tuple(map(float, table)))


class Tally:
    """How often the interval held, its half width and the estimate, by method."""

    def __init__(self) -> None:
        self.held: dict[str, list[bool]] = {}
        self.width: dict[str, list[float]] = {}
        self.value: dict[str, list[float]] = {}
        self.undefined: dict[str, int] = {}

    def add(self, estimates, truth: float) -> None:
        for one in estimates:
            if one.low is None:
                self.undefined[one.method] = self.undefined.get(one.method, 0) + 1
                if one.value is None:
                    continue
            else:
                self.held.setdefault(one.method, []).append(one.low <= truth <= one.high)
                self.width.setdefault(one.method, []).append(one.width)
            self.value.setdefault(one.method, []).append(one.value)

    def row(self, name: str, truth: float) -> str:
        cells = [name, f"{100 * truth:.1f}", f"{100 * np.mean(self.value['judge']):.1f}"]
        for method in METHODS:
            if method not in self.held:
                cells += ["–", "–", "–"]
                continue
            cells.append(f"{100 * np.mean(self.value[method]):.1f}")
            cells.append(f"{100 * np.mean(self.held[method]):.1f}")
            cells.append(f"{100 * np.mean(self.width[method]):.1f}")
        cells.append(f"{np.mean(self.width['ppi']) / np.mean(self.width['labels']):.2f}")
        return "| " + " | ".join(cells) + " |"


COLUMNS = ("system", "people", "judge alone", *(c for m in METHODS for c in (m, "covers %", "±")), "ppi ± / labels ±")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def factscore(draws: int, n: int, target: str) -> None:
    rng = np.random.default_rng(20261201)
    systems = {system: answers(system) for system in JUDGES}
    truths = {system: float(np.mean([facts.mean() for facts in found.values()])) for system, found in systems.items()}
    common = sorted(set.intersection(*(set(found) for found in systems.values())))
    shared = {s: float(np.mean([systems[s][topic].mean() for topic in common])) for s in systems}
    single = {system: Tally() for system in systems}
    pairs = {pair: Tally() for pair in itertools.combinations(systems, 2)}
    for _ in range(draws):
        for system, found in systems.items():
            topics = sorted(found)
            chosen = topics if target == "run" else [topics[k] for k in rng.integers(0, len(topics), len(topics))]
            drawn = set(rng.choice(len(chosen), n, replace=False).tolist())
            rows = [
                item(rng, str(place), found[topic], JUDGES[system], drawn=place in drawn)
                for place, topic in enumerate(chosen)
            ]
            single[system].add(corrected(rows, target=target), truths[system])
        chosen = common if target == "run" else [common[k] for k in rng.integers(0, len(common), len(common))]
        drawn = set(rng.choice(len(chosen), n, replace=False).tolist())
        sides = {
            system: [
                item(rng, str(place), found[topic], JUDGES[system], drawn=place in drawn)
                for place, topic in enumerate(chosen)
            ]
            for system, found in systems.items()
        }
        for (a, b), tally in pairs.items():
            tally.add(difference(sides[a], sides[b], target=target), shared[a] - shared[b])
    print(f"\n### FActScore's biographies, target {target}, {draws} draws of {n} labelled answers\n\n{HEAD}")
    for system, tally in single.items():
        print(tally.row(system, truths[system]))
    for (a, b), tally in pairs.items():
        print(tally.row(f"{a} - {b} ({len(common)} prompts)", shared[a] - shared[b]))


def wikibio(draws: int, n: int, target: str, run: Path) -> None:
    rng = np.random.default_rng(20261201)
    people = list(read(str(DATA / "wikibio_gpt3" / "first120.jsonl")))
    full = items("wikibio", list(RunFolder(run).reports()), people, "paper").items
    truth = float(np.mean([one.people for one in full]))
    tally = Tally()
    for _ in range(draws):
        chosen = full if target == "run" else [full[k] for k in rng.integers(0, len(full), len(full))]
        drawn = set(rng.choice(len(chosen), n, replace=False).tolist())
        rows = [
            Item(key=str(place), judge=one.judge, people=one.people if place in drawn else None)
            for place, one in enumerate(chosen)
        ]
        tally.add(corrected(rows, target=target), truth)
    print(f"\n### WikiBio's {len(full)} biographies, embedded judge, target {target}, {draws} draws of {n}\n\n{HEAD}")
    print(tally.row("text-davinci-003", truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--labelled", type=int, default=20)
    parser.add_argument("--wikibio", type=Path, default=Path("runs/wikibio"))
    options = parser.parse_args()
    for target in ("run", "prompts"):
        factscore(options.draws, options.labelled, target)
        if options.wikibio.is_dir():
            wikibio(options.draws, options.labelled, target, options.wikibio)


if __name__ == "__main__":
    main()
