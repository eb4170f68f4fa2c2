"""Do counts of facts follow people's? `python experiments/decomposers/counts.py [--model PROVIDER/NAME]`

SAFE's "split only" experiment (arXiv 2403.18802, appendix C): the number of facts of each response by a decomposer
against the number by people, on FActScore's 496 responses with people's facts. SAFE's own splitting has Pearson .798
and Spearman .846. Beside it what reads nothing: words, sentences, pieces between commas.

Twice: on whole responses, as SAFE does, and on the sentences that people took facts from, which leaves out those that
people found irrelevant. Intervals resample people (topics), whose biographies by three systems stay together.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from run import DATA, SYSTEMS

from veridical.clauses import ClauseDecomposer
from veridical.decompose import Decomposer, LLMDecomposer
from veridical.decomposition import Response, labelled
from veridical.decomposition.trivial import pieces
from veridical.models.cache import CallStore
from veridical.models.factory import open_model
from veridical.stats import Correlation, pearson, spearman
from veridical.text.sentences import split
from veridical.types import Decomposition, Generation

Numbers = list[int | None]
"""Facts of each response; None where the decomposer failed."""


@dataclass(frozen=True)
class Row:
    """A response as it is counted in one of the two ways."""

    text: str
    generation: Generation
    model: int
    people: int


def whole(one: Response, text: str) -> Row:
    return Row(text, msgspec.structs.replace(one.generation, text=text), sum(map(len, one.model)), people(one))


def kept_sentences(one: Response, text: str) -> Row:
    """The annotated sentences with people's facts, a line each."""
    kept = [sentence.text for sentence, facts in zip(one.sentences, one.human, strict=True) if facts]
    joined = "\n".join(kept)
    facts = sum(len(facts) for facts, human in zip(one.model, one.human, strict=True) if human)
    return Row(joined, msgspec.structs.replace(one.generation, text=joined), facts, people(one))


def people(one: Response) -> int:
    return sum(map(len, one.human))


async def counted(decomposer: Decomposer, rows: list[Row], failed: Counter[str]) -> Numbers:
    """Facts a response, each as often as it was said."""
    made: Numbers = []
    for row in rows:
        found: Decomposition = await decomposer.decompose(row.generation, split(row.text))
        for one in found.failures:
            failed[f"{one.failure.error} in a sentence"] += 1
        made.append(None if found.failures else sum(1 + fact.repeats for fact in found.facts))
    return made


def line(name: str, numbers: Numbers, rows: list[Row], topics: list[str]) -> str:
    kept = [place for place, number in enumerate(numbers) if number is not None]
    ours, theirs = [numbers[place] or 0 for place in kept], [rows[place].people for place in kept]
    places = {topic: number for number, topic in enumerate(sorted(set(topics)))}
    clusters = [places[topics[place]] for place in kept]
    both = (f(ours, theirs, clusters) for f in (pearson, spearman))
    mean = sum(ours) / max(len(ours), 1)
    return f"| {name} | {len(kept)} | {mean:.1f} | {' | '.join(map(told, both))} |"


def told(found: Correlation) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


async def table(rows: list[Row], topics: list[str], decomposers: list[tuple[str, Decomposer]]) -> None:
    print("\n| | responses | mean | Pearson | Spearman |\n|---|---|---|---|---|")
    print(f"| people | {len(rows)} | {sum(row.people for row in rows) / len(rows):.1f} | | |")
    trivial: list[tuple[str, Callable[[Row], int]]] = [
        ("words", lambda row: len(row.text.split())),
        ("sentences", lambda row: len(split(row.text))),
        ('pieces between commas, "and", …', lambda row: sum(len(pieces(s.text)) for s in split(row.text))),
        ("InstructGPT's facts, which people began with", lambda row: row.model),
    ]
    for name, count in trivial:
        print(line(name, [count(row) for row in rows], rows, topics))
    for name, decomposer in decomposers:
        failed: Counter[str] = Counter()
        print(line(name, await counted(decomposer, rows, failed), rows, topics))
        for why, n in failed.most_common():
            print(f"<!-- {name}: left out with their responses: {why} {n} -->")


def texts(folder: Path, system: str) -> dict[str, str]:
    lines = (folder / f"{system}.jsonl").read_text(encoding="utf-8").splitlines()
    return {f"{system}/{row['topic']}": row["output"] for row in map(msgspec.json.decode, lines)}


async def measured(folder: Path, first: int | None, model: str | None, cache: Path) -> None:
    responses = [one for system in SYSTEMS for one in labelled(folder / f"{system}.jsonl")[:first] if people(one)]
    written = {name: text for system in SYSTEMS for name, text in texts(folder, system).items()}
    topics = [one.topic for one in responses]
    decomposers: list[tuple[str, Decomposer]] = [("clauses", ClauseDecomposer())]
    store = CallStore(cache) if model else None
    opened = open_model(model, store=store) if model else None
    if opened:
        decomposers.append((opened.name, LLMDecomposer(model=opened)))
    try:
        for name, way in (("Whole responses", whole), ("Sentences that people took facts from", kept_sentences)):
            print(f"\n{name}")
            await table([way(one, written[one.generation.id]) for one in responses], topics, decomposers)
    finally:
        if opened:
            await opened.close()
        if store:
            store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model", help="a language model to split with too")
    parser.add_argument("--first", type=int, help="only so many responses of each system")
    parser.add_argument("--cache", type=Path, default=Path("runs/decomposers.sqlite"), help="replies of the model")
    given = parser.parse_args()
    asyncio.run(measured(given.data, given.first, given.model, given.cache))


if __name__ == "__main__":
    main()
