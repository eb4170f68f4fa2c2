"""Every FActScore estimator that runs on this machine, on the same labelled facts, beside trivial baselines.

    python experiments/estimators/run.py                       # judges what is not judged yet, then prints the tables
    python experiments/estimators/run.py --only embedded np    # these estimators
    python experiments/estimators/run.py --table               # the tables of what is there

Runs are kept under runs/estimators and are resumable; so are their seconds, which are those of one run on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

from estimators import ESTIMATORS, Workbench
from sets import SETS
from table import table

from veridical.decompose import GivenFacts
from veridical.folder import RunFolder, RunInfo
from veridical.pipeline import Method
from veridical.run import run
from veridical.text.abstention import Never
from veridical.types import Generation


async def judge(name: str, generations: list[Generation], folder: RunFolder, bench: Workbench) -> None:
    """Judge what is not judged yet; the seconds of this session are added to those of earlier ones."""
    gatherer, verifier = ESTIMATORS[name](bench)
    method = Method(
        name=name,
        decomposer=GivenFacts(merge=False),
        gatherer=gatherer,
        verifier=verifier,
        abstention=Never(),
    )
    info = RunInfo(
        signature=str(method.signature),
        fields=method.signature.fields,
        input=folder.path.parent.name,
        input_sha256="",
        generations=len(generations),
        metrics=(),
        settings={},
    )
    clock = folder.path / "seconds.json"
    folder.path.mkdir(parents=True, exist_ok=True)
    with folder.held():
        done = list(folder.start(method.signature, info, fresh=False))
        if len(done) == len(generations):
            return
        before = json.loads(clock.read_text()) if clock.exists() else 0.0
        started = time.perf_counter()
        try:
            await run(generations, method, folder, done=done, total=len(generations), in_flight=8)
        finally:
            clock.write_text(json.dumps(before + time.perf_counter() - started))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(ESTIMATORS), default=list(ESTIMATORS))
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--first", type=int, default=None, help="only the first N generations, for trying it out")
    parser.add_argument("--out", type=Path, default=Path("runs/estimators"))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    data = {name: make()[: options.first] for name, make in SETS.items() if name in options.sets}
    if not options.table:
        bench = Workbench(options.out)
        try:
            for name in options.only:
                for set_name, generations in data.items():
                    started = time.perf_counter()
                    await judge(name, generations, RunFolder(options.out / set_name / name), bench)
                    print(f"{set_name} {name}: {time.perf_counter() - started:.1f} s", flush=True)
        finally:
            await bench.close()
    for set_name, generations in data.items():
        print(table(set_name, generations, options.out / set_name, list(ESTIMATORS)))


if __name__ == "__main__":
    asyncio.run(main())
