"""Speed of reading wikitext: MB/s per CPU second, beside mwparserfromhell on the same pages, in turns.

    python perf/dump.py [--dump FILE.xml.bz2] [--pages 2000] [--rounds 5]     # needs: pip install mwparserfromhell

Without a dump the pages are those of `tests/wikitext/pages`, which are short and dense with templates. With one, a line
says how fast it is read through bz2 and XML as well. The two readers take turns on the same pages, and each round gives
one ratio; the ratio moves far less than the rates on a machine that has other work.
"""

from __future__ import annotations

import argparse
import bz2
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree.ElementTree import iterparse

import mwparserfromhell

from veridical.knowledge.wikitext import article

PAGES = Path(__file__).parents[1] / "tests" / "wikitext" / "pages"


def dumped(path: Path) -> Iterator[tuple[str, str, int]]:
    """Title and wikitext of every page of a MediaWiki dump, and how many bytes of XML were read up to it."""
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
        title = ""
        for _, element in iterparse(file):
            name = element.tag.rpartition("}")[2]
            if name == "title":
                title = element.text or ""
            elif name == "text":
                yield title, element.text or "", file.tell()
            elif name == "page":
                element.clear()


def seconds(read: Callable[[str], object], texts: list[str]) -> float:
    start = time.process_time()
    for text in texts:
        read(text)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.dump:
        start, size, plain, count, texts = time.process_time(), 0, 0, 0, []
        for title, text, read in dumped(options.dump):
            size = read
            page = article(text, title=title)
            plain += page.plain
            count += 1
            if len(texts) < options.pages and page.sections:
                texts.append(text)
        spent = time.process_time() - start
        print(f"through {options.dump.name}: {count} pages, {size / 1e6:.1f} MB of XML, {spent:.1f} CPU s,")
        print(f"  {size / 1e6 / spent:.2f} MB of XML per CPU second, {plain} pages kept as plainer text")
    else:
        texts = [path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.wiki"))] * 10
    size = sum(len(text.encode()) for text in texts) / 1e6
    readers: dict[str, Callable[[str], object]] = {
        "veridical": article,
        "mwparserfromhell": lambda text: mwparserfromhell.parse(text).strip_code(),
    }
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(options.rounds):
        for name in sorted(readers, reverse=bool(turn % 2)):
            rates[name].append(size / seconds(readers[name], texts))
    ratios = [ours / theirs for ours, theirs in zip(rates["veridical"], rates["mwparserfromhell"], strict=True)]
    print(f"{len(texts)} pages, {size:.2f} MB, {options.rounds} rounds in turns; MB/s per CPU second:")
    for name, values in rates.items():
        print(f"  {name:17} median {statistics.median(values):6.2f}  ({min(values):.2f} to {max(values):.2f})")
    print(f"  ratio             median {statistics.median(ratios):6.2f}  ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
