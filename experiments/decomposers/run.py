"""Measure the embedded decomposer against FActScore's human facts: `python experiments/decomposers/run.py`.

Topics whose sha1 is even are the development half (the rules were made on it); the others are held out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import comma_split, invented, leads_with_pronoun, pool, words

from veridical.clauses import ClauseDecomposer
from veridical.types import AtomicFact, Decomposition, Generation, Sentence

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "factscore_labeled"
SYSTEMS = ("InstructGPT", "ChatGPT", "PerplexityAI")


@dataclass(frozen=True)
class Response:
    """A labelled response: its sentences as annotated, and people's facts of each (empty: none)."""

    generation: Generation
    sentences: list[Sentence]
    human: list[list[str]]
    model: list[list[str]]

    @property
    def topic(self) -> str:
        return self.generation.topic or ""

    @property
    def development(self) -> bool:
        return int(hashlib.sha1(self.topic.encode()).hexdigest(), 16) % 2 == 0


def read(system: str, folder: Path = DATA) -> Iterator[Response]:
    """The responses that people split into facts."""
    for line in (folder / f"{system}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["annotations"]:
            yield response(row, system)


def response(row: dict, system: str) -> Response:
    """The annotated sentences, joined by blanks, are taken for the text."""
    text, sentences = "", []
    for index, annotation in enumerate(row["annotations"]):
        start = len(text) + bool(text)
        text = f"{text} {annotation['text']}" if text else annotation["text"]
        sentences.append(Sentence(index=index, text=annotation["text"], start=start, end=len(text)))
    generation = Generation(id=f"{system}/{row['topic']}", text=text, prompt=row["input"], topic=row["topic"])
    return Response(generation, sentences, _facts(row, "human-atomic-facts"), _facts(row, "model-atomic-facts"))


def _facts(row: dict, name: str) -> list[list[str]]:
    return [[fact["text"] for fact in annotation[name] or []] for annotation in row["annotations"]]


def by_sentence(done: Response, made: Decomposition) -> list[list[AtomicFact]]:
    facts: list[list[AtomicFact]] = [[] for _ in done.sentences]
    for fact in made.facts:
        facts[fact.sentence].append(fact)
    return facts


Predict = Callable[[Response], list[list[str]]]


def row(name: str, half: str, responses: Iterable[tuple[str, Response]], predict: Predict) -> str:
    """One line of the table: precision, coverage, F1 at .6 and at .75 for each system, and the mean F1."""
    cells: list[str] = []
    means: list[list[float]] = [[], []]
    chosen = list(responses)
    for system in SYSTEMS:
        lines = [
            (facts, human, one.topic)
            for of, one in chosen
            if of == system
            for facts, human in zip(predict(one), one.human, strict=True)
        ]
        both = [pool(lines, t) for t in (0.6, 0.75)]
        for mean, match in zip(means, both, strict=True):
            mean.append(match.f1)
        cells.append(" / ".join(f"{m.precision:.3f} {m.coverage:.3f} **{m.f1:.3f}**" for m in both))
    return f"| {name} | {half} | {' | '.join(cells)} | {' / '.join(f'**{np.mean(mean):.3f}**' for mean in means)} |"


def other_figures(made: dict[str, Decomposition], responses: list[tuple[str, Response]]) -> list[str]:
    """Invention, self-containment, duplicates, counts, over sentences with human facts."""
    facts: list[tuple[Response, AtomicFact]] = []
    counts: list[tuple[int, int, int]] = []
    sentences = inventions = 0
    dated: list[str] = []
    for _, one in responses:
        told = by_sentence(one, made[one.generation.id])
        kept = [(facts, text) for facts, text, human in zip(told, one.sentences, one.human, strict=True) if human]
        sentences += len(kept)
        facts += [(one, fact) for told, _ in kept for fact in told]
        length = sum(len(words(sentence.text)) for _, sentence in kept)
        counts.append((sum(len(told) for told, _ in kept), sum(map(len, one.human)), length))
    for one, fact in facts:
        new = invented(fact.text, one.generation.text, one.topic)
        dated += [word for word in new if word in ("born", "died")]
        inventions += len([word for word in new if word not in ("born", "died")])
    repeats = sum(fact.repeats for made_ in made.values() for fact in made_.facts)
    ours, human, length = np.array(counts).T
    return [
        f"facts {len(facts)}, per sentence {len(facts) / sentences:.2f} (people: {human.sum() / sentences:.2f})",
        f"begin with a pronoun: {np.mean([leads_with_pronoun(fact.text) for _, fact in facts]):.2%}"
        f" (before resolution {np.mean([leads_with_pronoun(fact.original or fact.text) for _, fact in facts]):.2%})",
        f"invented words: {inventions}, besides {len(dated)} of born / died read from dates in brackets",
        f"merged duplicates: {repeats}",
        f"whole sentences: {sum(any('whole' in flag for flag in fact.flags) for _, fact in facts)}",
        f"Pearson of facts per response with people's: {np.corrcoef(ours, human)[0, 1]:.3f}"
        f" (words of those sentences: {np.corrcoef(length, human)[0, 1]:.3f})",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    responses = [(system, one) for system in SYSTEMS for one in read(system, parser.parse_args().data)]
    decomposer = ClauseDecomposer()
    decomposer.decompose_sync(responses[0][1].generation, responses[0][1].sentences[:1])  # loads the parser
    start = time.process_time()
    made = {one.generation.id: decomposer.decompose_sync(one.generation, one.sentences) for _, one in responses}
    seconds = time.process_time() - start

    print("| | half | " + " | ".join(SYSTEMS) + " | mean F1 |\n" + "|---" * (len(SYSTEMS) + 3) + "|")
    ways: list[tuple[str, Predict]] = [
        ("the sentence itself", lambda one: [[sentence.text] for sentence in one.sentences]),
        ('split at commas, "and", …', lambda one: [comma_split(sentence.text) for sentence in one.sentences]),
        ("InstructGPT's facts", lambda one: one.model),
        (
            "clauses",
            lambda one: [[fact.text for fact in told] for told in by_sentence(one, made[one.generation.id])],
        ),
        (
            "clauses, before pronouns are replaced",
            lambda one: [
                [fact.original or fact.text for fact in told] for told in by_sentence(one, made[one.generation.id])
            ],
        ),
    ]
    for name, predict in ways:
        print(row(name, "all", responses, predict))
    for half, development in (("development", True), ("held out", False)):
        print(row("clauses", half, [pair for pair in responses if pair[1].development is development], ways[-2][1]))
    print("\n" + "\n".join(f"- {line}" for line in other_figures(made, responses)))
    count = sum(len(one.sentences) for _, one in responses)
    print(f"- {count} sentences in {seconds:.1f} CPU seconds: {count / seconds:.0f} a second")


if __name__ == "__main__":
    main()
