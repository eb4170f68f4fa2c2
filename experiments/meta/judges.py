"""Every judge that runs without a key on every labelled set: `veridical meta`, judge by judge, and one table.

    .venv/bin/veridical models fetch smollm2; .venv/bin/veridical models fetch minilm
    .venv/bin/python experiments/meta/judges.py --out runs/judges [--only NAME …]   # resumable: run it again
    .venv/bin/python experiments/meta/judges.py --out runs/judges --table

All judges see the same claims: a sample of each set, drawn with one seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

DATA = Path("../shared/data")
SETS = {
    "factcheck-bench": "factcheck_gpt",
    "factcheck-claims": "factcheck_gpt",
    "wikibio": "wikibio_gpt3/first120.jsonl",
    "wice": "wice/dev.jsonl",
    "fm2": "fool_me_twice/dev.jsonl",
    "fever-symmetric": "fever_symmetric/fever_symmetric_dev.jsonl",
    "summedits": "summedits",
    "bump": "bump/task1_dataset.json",
    "begin": "begin",
    "felm": "felm/all.jsonl",
}
SMOLLM2 = ["--judge", "embedded/smollm2", "-k", "1", "--concurrency", "1"]
JUDGES = {
    "embedded": [],
    "np, MiniLM": ["--method", "np", "--np-model", "embedded/minilm", "-k", "3"],
    "no-context, SmolLM2": ["--method", "no-context", *SMOLLM2],
    "retrieve, SmolLM2": ["--method", "factscore", *SMOLLM2],
    "embedded then SmolLM2": ["--method", "cascade", "--confidence", "0.8", *SMOLLM2],
    "embedded and np": ["--method", "embedded+np", "--np-model", "embedded/minilm"],
}


def path(out: Path, judge: str) -> Path:
    return out / judge.replace(", ", "-").replace(" ", "-").lower()


def run(out: Path, judge: str, sample: int) -> None:
    """Set by set, so that what is done stays done."""
    for name, file in SETS.items():
        folder = path(out, judge)
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(Path(sys.executable).with_name("veridical")), "meta", f"{name}:{DATA / file}", *JUDGES[judge]]
        command += ["--sample", str(sample), "--seed", "0", "--out", str(folder), "--json"]
        command += ["--cache", str(out / "calls.sqlite")]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode == 0:
            (folder / f"{name}.json").write_bytes(done.stdout)
        else:
            print(f"{judge} on {name}: exit status {done.returncode}", file=sys.stderr)


def table(out: Path) -> str:
    """A row for each set and judge, the judges that read nothing first."""
    lines = [
        "| set | judge | n | judged | balanced accuracy | AUC | supported / not | ECE | claims/s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        found = {judge: path(out, judge) / f"{name}.json" for judge in JUDGES}
        results = {judge: json.loads(file.read_bytes()) for judge, file in found.items() if file.exists()}
        for one in next(iter(results.values()))["trivial"][0] if results else []:
            if one["name"].startswith(("always not", "share")):
                lines.append(
                    f"| {name} | *{one['name']}* | | | {said(one['balanced_accuracy'])} | {said(one['auc'])} | | | |"
                )
        lines += [row(name, judge, result["sets"][0]) for judge, result in results.items()]
    return "\n".join(lines)


def row(name: str, judge: str, found: dict[str, Any]) -> str:
    auc = said(found["auc"])
    if found["auc"] is not None and found["auc_low"] is not None:
        auc += f" [{said(found['auc_low'])}, {said(found['auc_high'])}]"
    cells = [
        name,
        judge + (r" \*" if found["seen"] else ""),
        str(found["n"]),
        f"{found['coverage']:.0%}",
        f"{said(found['balanced_accuracy'])} [{said(found['low'])}, {said(found['high'])}]",
        auc,
        f"{said(found['recall_supported'])} / {said(found['recall_not_supported'])}",
        said(found["ece"]),
        said(found["pairs_per_s"], 1),
    ]
    return f"| {' | '.join(cells)} |"


def said(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(JUDGES), default=list(JUDGES))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if not given.table:
        for judge in given.only:
            run(given.out, judge, given.sample)
    print(table(given.out))


if __name__ == "__main__":
    main()
