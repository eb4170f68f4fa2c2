"""`table.py FILE…`: the JSON of `veridical meta … --json` as Markdown, a row for each set and domain."""

import json
import sys
from pathlib import Path
from typing import Any

COLUMNS = (
    "set",
    "n",
    "clusters",
    "balanced accuracy",
    "tuned",
    "words",
    "supported / not",
    "F1 of not (always)",
    "MCC",
    "AUC (words)",
    "AUC-PR (share)",
    "Brier",
    "ECE",
    "claims/s",
)


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def cells(row: dict[str, Any], beside: list[dict[str, Any]]) -> list[str]:
    """`beside`: the judges that read nothing, of a whole set."""
    trivial = {one["name"].partition(",")[0]: one for one in beside}
    words, always = trivial.get("share of words", {}), trivial.get("always not supported", {})
    return [
        row["set"],
        f"{row['n']:,}",
        f"{row['clusters']:,}",
        f"{number(row['balanced_accuracy'])} [{number(row['low'])}, {number(row['high'])}]",
        number(row["balanced_accuracy_tuned"]),
        number(words.get("balanced_accuracy")),
        f"{number(row['recall_supported'], 2)} / {number(row['recall_not_supported'], 2)}",
        f"{number(row['f1'])} ({number(always.get('f1'))})",
        number(row["mcc"]),
        f"{number(row['auc'])} ({number(words.get('auc'))})",
        f"{number(row['average_precision'])} ({number(1 - row['supported'] / row['n'])})",
        number(row["brier"]),
        number(row["ece"]),
        number(row["pairs_per_s"], 0),
    ]


def main() -> None:
    print(f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", sep="\n")
    for file in sys.argv[1:]:
        found = json.loads(Path(file).read_bytes())
        beside = iter(found["trivial"])
        for row in found["sets"]:
            print(f"| {' | '.join(cells(row, [] if '/' in row['set'] else next(beside)))} |")


if __name__ == "__main__":
    main()
