"""The embedded decomposer on the half of the topics that its rules were made on, and on the half held out:
`python experiments/decomposers/run.py`. All else of the table: `veridical decomposers`.

Topics whose sha1 is even are the development half. "Before pronouns are replaced" measures `AtomicFact.original`.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

from veridical.clauses import ClauseDecomposer
from veridical.decomposition import DecomposerMeasures, Response, Told, labelled, measured

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "factscore_labeled"
SYSTEMS = ("InstructGPT", "ChatGPT", "PerplexityAI")


def development(response: Response) -> bool:
    return int(hashlib.sha1(response.topic.encode()).hexdigest(), 16) % 2 == 0


def told(response: Response, decomposer: ClauseDecomposer) -> tuple[Told, Told]:
    """As the facts are given out, and as they are before names are put for pronouns."""
    made = decomposer.decompose_sync(response.generation, response.sentences)
    before: list[list[str]] = [[] for _ in response.sentences]
    for fact in made.facts:
        before[fact.sentence].append(fact.original or fact.text)
    return Told.of(response, made), Told(facts=tuple(map(tuple, before)))


def row(found: DecomposerMeasures) -> str:
    cells = [
        f"{one.precision:.3f} {one.coverage:.3f} **{one.f1:.3f}** [{one.low:.3f}, {one.high:.3f}]"
        for one in found.matched
    ]
    return f"| {found.name} | {found.sentences:,} | {' | '.join(cells)} |"


def halves(responses: Sequence[Response]) -> list[DecomposerMeasures]:
    decomposer = ClauseDecomposer()
    both = [told(response, decomposer) for response in responses]
    parts = {
        "all": [True] * len(responses),
        "development": [development(response) for response in responses],
        "held out": [not development(response) for response in responses],
    }
    made = [measured("all, before pronouns are replaced", responses, [before for _, before in both])]
    for name, kept in parts.items():
        chosen = [place for place, here in enumerate(kept) if here]
        made.append(measured(name, [responses[place] for place in chosen], [both[place][0] for place in chosen]))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    responses = [one for system in SYSTEMS for one in labelled(given.data / f"{system}.jsonl")]
    print("| topics | sentences | t = .6: precision, coverage, F1 | t = .75 |\n|---|---|---|---|")
    print("\n".join(row(one) for one in halves(responses)))


if __name__ == "__main__":
    main()
