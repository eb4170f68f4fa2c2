"""Wikipedia biographies new in 2023 (Wiki-Newpages-2023-10-Bio) as pages of a knowledge source.

python experiments/longfact/pages.py ../shared/data/wiki_newpages_2023_bio pages.jsonl
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

_TITLED = re.compile(r"<(.+?)\s+- Wikipedia>\s*(.*)", re.DOTALL)


def main(folder: Path, out: Path) -> None:
    (file,) = folder.glob("*train_doc_1136*")
    instances = json.loads(file.read_text(encoding="utf-8"))["instances"]
    pages: dict[str, str] = {}
    for instance in instances:
        if found := _TITLED.match(instance["output"]):
            pages.setdefault(found[1], found[2])
    with out.open("w", encoding="utf-8") as lines:
        for title, text in pages.items():
            lines.write(json.dumps({"title": title, "text": text}, ensure_ascii=False) + "\n")
    print(f"{len(pages)} pages of {len(instances)} instances: {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
