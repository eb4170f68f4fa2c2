"""The README's table by system and half: `python experiments/decomposers/run.py`. All else: `veridical decomposers`.

Topics whose sha1 is even are the development half, on which the rules were made; the others are held out. "Before
pronouns are replaced" measures `AtomicFact.original`.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

from veridical.clauses import ClauseDecomposer
from veridical.decomposition import Matched, Response, Told, labelled, measured, trivial

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


def row(name: str, half: str, responses: Sequence[Response], facts: Sequence[Told]) -> str:
    found = measured(name, responses, facts)
    cells = [" / ".join(cell(one.systems[system]) for one in found.matched) for system in SYSTEMS]
    means = " / ".join(f"**{mean(one):.3f}**" for one in found.matched)
    return f"| {name} | {half} | {' | '.join(cells)} | {means} | {100 * (found.pronoun or 0):.2f} |"


def cell(one: Matched) -> str:
    return f"{one.precision.value:.3f} {one.coverage.value:.3f} **{one.f1.value:.3f}**"


def mean(one: Matched) -> float:
    return sum(one.systems[system].f1.value or 0.0 for system in SYSTEMS) / len(SYSTEMS)


def rows(responses: Sequence[Response]) -> list[str]:
    made = [row(name, "all", responses, facts) for name, facts in trivial(responses).items()]
    decomposer = ClauseDecomposer()
    both = [told(response, decomposer) for response in responses]
    after, before = [one for one, _ in both], [one for _, one in both]
    made.append(row("clauses", "all", responses, after))
    made.append(row("clauses, before pronouns are replaced", "all", responses, before))
    for half, wanted in (("development", True), ("held out", False)):
        places = [place for place, response in enumerate(responses) if development(response) == wanted]
        made.append(row("clauses", half, [responses[place] for place in places], [after[place] for place in places]))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    responses = [one for system in SYSTEMS for one in labelled(given.data / f"{system}.jsonl")]
    print(f"| | half | {' | '.join(SYSTEMS)} | mean F1 | pronoun first, % |\n|---|---|---|---|---|---|---|")
    print("\n".join(rows(responses)))


if __name__ == "__main__":
    main()
