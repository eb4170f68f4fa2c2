"""WikiBio GPT-3 end to end: the score of a run against people's labels of the sentences.

    python experiments/wikibio/run.py ../shared/data/wikibio_gpt3/first120.jsonl --out runs/wikibio
    python experiments/wikibio/run.py … --first 10 --judge llamacpp/smollm2

Each passage was written by GPT-3 about a person and labelled sentence by sentence (accurate, minor or major inaccurate:
Manakul et al. 2023, SelfCheckGPT). Knowledge is the Wikipedia text that comes with it, one page a person. The truth of
a response is the mean of its sentences with accurate 1, minor 0.5, major 0. The trivial predictor is the share of the
response's content words that occur in the page.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from veridical import cli
from veridical.folder import RunFolder
from veridical.metrics import parse
from veridical.stats import pearson, spearman
from veridical.text.normal import STOPWORDS, tokens
from veridical.types import Report

WORTH = {"accurate": 1.0, "minor_inaccurate": 0.5, "major_inaccurate": 0.0}
FACTSCORE = parse("factscore(gamma=0)")


def topic(row: dict) -> str:
    return row["question"].removeprefix("This is a passage from Wikipedia about ").strip()


def write(rows: list[dict], out: Path) -> tuple[Path, Path]:
    """The pages and the generations, each as JSONL."""
    pages, generations = out / "pages.jsonl", out / "generations.jsonl"
    with pages.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"title": topic(row), "text": row["wiki_bio_text"]}) + "\n")
    with generations.open("w", encoding="utf-8") as file:
        for n, row in enumerate(rows):
            file.write(json.dumps({"id": str(n), "topic": topic(row), "text": row["gpt3_text"]}) + "\n")
    return pages, generations


def human(row: dict) -> float:
    return statistics.fmean(WORTH[label] for label in row["annotation"])


def overlap(row: dict) -> float:
    page = set(tokens(row["wiki_bio_text"]))
    words = [word for word in tokens(row["gpt3_text"]) if word not in STOPWORDS]
    return sum(word in page for word in words) / len(words)


def mean_probability(report: Report) -> float | None:
    found = [f.verdict.probability for f in report.facts if f.verdict and f.verdict.probability is not None]
    return statistics.fmean(found) if found else None


def line(name: str, predicted: list[float | None], truth: list[float]) -> None:
    pairs = [(p, t) for p, t in zip(predicted, truth, strict=True) if p is not None]
    xs, ys = [p for p, _ in pairs], [t for _, t in pairs]
    if len(pairs) < 3 or len(set(xs)) < 2:
        print(f"| {name} | {len(pairs)} of {len(truth)} | – | – | – |")
        return
    cells = [
        f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]" if found.value is not None else "–"
        for found in (pearson(xs, ys), spearman(xs, ys))
    ]
    means = f"{statistics.fmean(xs):.3f} (people {statistics.fmean(ys):.3f})"
    print(f"| {name} | {len(pairs)} of {len(truth)} | {cells[0]} | {cells[1]} | {means} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/wikibio"))
    parser.add_argument("--first", type=int, default=None, help="only the first N")
    options, score_options = parser.parse_known_args()
    rows = [json.loads(text) for text in options.data.read_text(encoding="utf-8").splitlines()][: options.first]
    options.out.mkdir(parents=True, exist_ok=True)
    pages, generations = write(rows, options.out)
    kb = options.out / "kb.sqlite"
    kb.unlink(missing_ok=True)
    if status := cli.run(["knowledge", "build", str(pages), "--out", str(kb), "--name", "wikibio"]):
        sys.exit(status)
    run = options.out / "run"
    status = cli.run(["score", str(generations), "--knowledge", str(kb), "--out", str(run), *score_options])
    if status not in (0, 1):
        sys.exit(status)
    reports = list(RunFolder(run).reports())
    truth = [human(row) for row in rows]
    print("\n| predictor | n | Pearson | Spearman | mean |\n|---|---|---|---|---|")
    line("share of content words in the page (trivial)", [overlap(row) for row in rows], truth)
    line("FActScore of the run", [FACTSCORE.of(report) for report in reports], truth)
    line("mean probability of its facts", [mean_probability(report) for report in reports], truth)


if __name__ == "__main__":
    main()
