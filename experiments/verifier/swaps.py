"""Pairs that differ from a supported one in a single thing: for training, and to see whether an encoder notices.

    .venv/bin/python experiments/verifier/swaps.py --show 5            # some of each kind, to read
    .venv/bin/python experiments/verifier/swaps.py --out runs/verifier/swaps.jsonl.gz

Kinds: number, date, name, value (of a closed class: trades, relations, nationalities …), unit, negation, role (two
names change places), page (the evidence of another document).

For training they come in fours, so that neither the claim nor the evidence alone gives the label away. Of a claim c
with evidence E, and c' in which x is y, E' is the evidence in which x and y have changed places: c is supported by E
and not by E', c' by E' and not by E; where y stands in E, all four share one bag of words. Negation: c true, its denial
false, c' false, the denial of c' true. Page: two claims of different documents that share words, each with either
evidence. The licence of a row is that of its parent.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from mix import NOT_GIVEN, ROWS, window
from spacy.language import Language
from spacy.tokens import Doc
from spots import Spot, leftover, listed, negated, occurrences, rivals, roles, spots, swapped, without

from veridical.clauses.model import folder as parser
from veridical.text.normal import STOPWORDS, tokens

Row = dict[str, Any]
KINDS: tuple[str, ...] = ("number", "date", "name", "value", "unit", "negation", "role", "page")
DENIED = "denial of a false claim"
"""For looking at behaviour only: a true denial of a false claim, and that claim."""
FIRM = ("number", "date", "unit", "negation")
"""Kinds whose false claims are contradicted; of the others it is only sure that they are not supported."""
PARENTS = (
    "te_new_protocols",
    "squad_dev_claims",
    "factscore_atomic",
    "feverous_dev",
    "fm2_dev",
    "nq_claims",
    "fever_symmetric",
    "factcheck_gpt_train",
    "boolq_claims",
    "check_covid",
    "strategyqa_facts",
    "infotabs",
    "wice_dev_chunks",
)
"""Training files whose supported rows are parents."""
UNTRAINED = ("bio_newpages_qa", "quoref_claims")
"""Files that the mix leaves out for their terms: good for looking at behaviour, of all their documents."""
SPARE = ("drop_recast_part", "anli_dev", "rte", "covidfact", "ling_in_loop")
"""More such files, of poorer text: for the kinds of which the others have too few."""
FOURS: dict[str, int] = dict.fromkeys(KINDS, 300)
"""Fours of each kind for training: at most 9,600 rows, about an eighth of the mix; units and roles are rarer."""
READ = 10_000
"""Parents that are read for it at most: the parse of each costs 5 ms."""
LONGEST = 40
"""Words of the longest claim that is swapped."""


class Swap(NamedTuple):
    """A supported pair and its claim with one thing changed; `new` is "" for a denial."""

    kind: str
    parent: Row
    evidence: str
    claim: str
    wrong: str
    old: str
    new: str


@lru_cache(maxsize=1)
def _nlp() -> Language:
    return spacy.load(parser(), exclude=["senter"])


def parents(folder: Path, names: Iterable[str], parts: Iterable[str]) -> list[Row]:
    """Supported rows, in an order that is by chance and always the same."""
    found: list[Row] = []
    for name in names:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                if row["label"] == "supported" and row["split"] in parts and len(row["claim"].split()) <= LONGEST:
                    found.append({**row, "source": name})
    return sorted(found, key=lambda row: hashlib.sha1(row["id"].encode()).digest())


class Pool:
    """What other claims have in the place of a spot: the longer alike the sooner."""

    def __init__(self, read: list[tuple[Row, Doc, list[Spot]]]) -> None:
        self.group: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.all: dict[str, list[str]] = defaultdict(list)
        for row, _, found in read:
            for spot in found:
                if spot.type:
                    self.group[row["group"], spot.type].append(spot.text)
                    self.all[spot.type].append(spot.text)

    def peers(self, row: Row, spot: Spot, rng: random.Random) -> list[str]:
        near, far = self.group.get((row["group"], spot.type), []), self.all.get(spot.type, [])
        drawn = rng.sample(near, min(5, len(near))) + rng.sample(far, min(12, len(far)))
        return sorted(drawn, key=lambda text: abs(len(text.split()) - len(spot.text.split())))


def swaps(rows: list[Row], seed: int, *, each: int = 2) -> Iterator[Swap]:
    """The swaps of all kinds but page that can be made of rows, at most `each` of a row and kind."""
    read = [(row, doc, spots(doc)) for row, doc in zip(rows, _nlp().pipe(row["claim"] for row in rows), strict=True)]
    pool = Pool(read)
    for row, doc, found in read:
        rng = random.Random(f"{seed} {row['id']}")
        evidence = window(row["claim"], row["evidence"])
        made: dict[str, int] = defaultdict(int)
        for spot in found:
            if made[spot.kind] < each and (new := _rival(spot, row, evidence, pool, rng)):
                made[spot.kind] += 1
                wrong = swapped(doc.text, spot.text, new)
                yield Swap(spot.kind, row, evidence, doc.text, wrong, spot.text, new)
        if (names := roles(doc)) and all(occurrences(evidence, name) for name in names):
            wrong = swapped(doc.text, *names)
            yield Swap("role", row, evidence, doc.text, wrong[:1].upper() + wrong[1:], *names)
        if denial := negated(doc, rng):
            yield Swap("negation", row, evidence, doc.text, denial, "", "")


def _rival(spot: Spot, row: Row, evidence: str, pool: Pool, rng: random.Random) -> str | None:
    if not occurrences(evidence, spot.text):
        return None
    for text in rivals(spot, evidence, pool.peers(row, spot, rng), rng):
        if not occurrences(row["claim"], text) and not listed(evidence, spot.text, text):
            wrong = swapped(row["claim"], spot.text, text)
            if wrong != row["claim"] and not (spot.kind == "name" and leftover(wrong, spot.text)):
                return text
    return None


def four(swap: Swap) -> Iterator[Row]:
    """The four rows of a swap of a thing; none where the evidence still tells of what was swapped out of it."""
    other = swapped(swap.evidence, swap.old, swap.new)
    if other == swap.evidence or (swap.kind in ("name", "role") and _torn(swap)):
        return
    yield _row(swap, "a", swap.claim, swap.evidence, True)
    yield _row(swap, "b", swap.wrong, swap.evidence, False)
    yield _row(swap, "c", swap.claim, other, False)
    yield _row(swap, "d", swap.wrong, other, True)


def _torn(swap: Swap) -> bool:
    """Whether the evidence has a part of either name without the rest."""
    rest = without(without(swap.evidence, swap.old), swap.new)
    return leftover(rest, swap.old) or leftover(rest, swap.new)


def denials(denial: Swap, wrong: Swap) -> Iterator[Row]:
    """A true claim and its denial, a false one and its denial."""
    true = _denied(wrong)
    if true is None:
        return
    yield _row(denial, "a", denial.claim, denial.evidence, True)
    yield _row(denial, "b", denial.wrong, denial.evidence, False)
    yield _row(denial, "c", wrong.wrong, denial.evidence, False)
    yield _row(denial, "d", true, denial.evidence, True)


def _denied(swap: Swap) -> str | None:
    return negated(_nlp()(swap.wrong), random.Random(swap.wrong))


def _row(swap: Swap, mark: str, claim: str, evidence: str, true: bool) -> Row:
    parent = swap.parent
    digest = hashlib.sha1(f"{swap.kind} {swap.claim} {swap.wrong}".encode()).hexdigest()[:8]
    row = {
        "id": f"{parent['id']}-{swap.kind}-{digest}{mark}",
        "claim": claim,
        "evidence": evidence,
        "label": "supported" if true else "not_enough" if swap.kind == "page" else "contradicted",
        "source": "swaps",
        "group": parent["group"],
        "kind": "synthetic",
        "licence": parent["licence"],
        "how": swap.kind,
        "parent": parent["id"],
        "split": parent["split"],
    }
    return row if true or swap.kind in (*FIRM, "page") else {**row, "coarse": 1}


def _names(claim: str) -> set[str]:
    """Its names and numbers, in lower case, without the first word, which is capitalised whatever it is."""
    return {
        token for word in claim.split()[1:] if word[0].isupper() or word[0].isdecimal() for token in tokens(word)
    } - STOPWORDS


def pages(rows: list[Row]) -> Iterator[tuple[Swap, Swap]]:
    """Pairs of supported rows of different documents that share words; neither evidence names all of the other claim.

    In each swap `wrong` is the evidence of the other, not a claim.
    """
    words = [frozenset(tokens(row["claim"])) - STOPWORDS for row in rows]
    holders: dict[str, list[int]] = defaultdict(list)
    for at, held in enumerate(words):
        for word in sorted(held):
            holders[word].append(at)
    taken: set[int] = set()
    for at, row in enumerate(rows):
        shared: dict[int, float] = defaultdict(float)
        for word in sorted(words[at]):
            for other in holders[word][:50] if len(holders[word]) > 1 else []:
                shared[other] += 1 / len(holders[word])
        for other in sorted(shared, key=lambda other: (-shared[other], other)):
            mate = rows[other]
            if other <= at or taken & {at, other} or mate["group"] == row["group"]:
                continue
            texts = [window(one["claim"], one["evidence"]) for one in (row, mate)]
            held = [frozenset(tokens(text)) for text in texts]
            if _names(row["claim"]) - held[1] and _names(mate["claim"]) - held[0]:
                taken |= {at, other}
                yield (
                    Swap("page", row, texts[0], row["claim"], texts[1], "", ""),
                    Swap("page", mate, texts[1], mate["claim"], texts[0], "", ""),
                )
                break


def training(folder: Path, fours: Mapping[str, int] = FOURS, seed: int = 0, part: str = "train") -> Iterator[Row]:
    """Rows to train on, in the format of the files beside them: of each kind as many fours as asked for, if found."""
    rows = [row for row in parents(folder, PARENTS, (part,)) if not NOT_GIVEN.search(row["licence"])]
    rows = rows[:READ]
    left = dict(fours)
    for start in range(0, len(rows), 2000):
        block = rows[start : start + 2000]
        firm: dict[str, Swap] = {}
        for swap in swaps(block, seed, each=1):
            if swap.kind in ("number", "date", "unit", "value"):
                firm[swap.parent["id"]] = swap
            if left.get(swap.kind, 0) <= 0:
                continue
            if swap.kind == "negation":
                wrong = firm.get(swap.parent["id"])
                made = list(denials(swap, wrong)) if wrong else []
            else:
                made = list(four(swap))
            left[swap.kind] -= bool(made)
            yield from made
        for one, two in pages(block) if left.get("page", 0) > 0 else ():
            if left["page"] > 0:
                left["page"] -= 1
                for swap in (one, two):
                    yield _row(swap, "a", swap.claim, swap.evidence, True)
                    yield _row(swap, "b", swap.claim, swap.wrong, False)
        if all(count <= 0 for count in left.values()):
            return


def behaviour(folder: Path, most: int = 1000, seed: int = 1) -> Iterator[Swap]:
    """At most `most` swaps of each kind of claims of documents that were never trained on."""
    trained: set[str] = set()
    for name in ROWS:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            trained |= {row["group"] for row in map(json.loads, file) if row["split"] == "train"}
    rows = parents(folder, PARENTS, ("dev",)) + parents(folder, UNTRAINED, ("train", "dev"))
    rows.sort(key=lambda row: hashlib.sha1(row["id"].encode()).digest())
    rows += parents(folder, SPARE, ("train", "dev"))[:READ]
    rows = [row for row in rows if row["group"] not in trained]
    left = dict.fromkeys(KINDS, most)
    false: list[Swap] = []
    for start in range(0, len(rows), READ // 5):
        for swap in swaps(rows[start : start + READ // 5], seed):
            if left[swap.kind] > 0:
                left[swap.kind] -= 1
                yield swap
                if swap.kind in ("number", "date", "unit") and len(false) < 2 * most:
                    false.append(swap)
        if not any(left[kind] for kind in KINDS if kind != "page"):  # roles are rare: all rows are read for them
            break
    for swap, denied in list(zip(false, map(_denied, false), strict=True))[:most]:
        if denied:
            yield swap._replace(kind=DENIED, claim=denied)
    for swap in (swap for pair in pages(rows[: READ // 2]) for swap in pair):
        if left["page"] > 0:
            left["page"] -= 1
            yield swap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/train_pairs"))
    parser.add_argument("--out", type=Path, help="write the rows for training here, as .jsonl.gz")
    parser.add_argument("--fours", type=int, default=300, help="of each kind")
    parser.add_argument("--show", type=int, default=0, help="print so many swaps of each kind")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.show:
        for swap in behaviour(asked.data, asked.show, asked.seed):
            print(f"{swap.kind}: {swap.claim}\n    {swap.wrong[:200]}\n    < {swap.evidence[:300]}")
    if asked.out:
        fours = dict.fromkeys(KINDS, int(asked.fours))
        counts: dict[tuple[str, str], int] = defaultdict(int)
        with gzip.open(asked.out, "wt", encoding="utf-8") as file:
            for row in training(asked.data, fours, asked.seed):
                counts[row["how"], row["label"]] += 1
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        for (how, label), count in sorted(counts.items()):
            print(f"{how:10} {label:14} {count}")


if __name__ == "__main__":
    main()
