"""Reading FELM's file: one JSON object a line, its irregularities mended and every repair listed.

Two versions are about, which are not comparable, since their share of wrong segments differs (14.4 % and 17.8 %): 817
samples, and 847 with thirty more of `writing_rec`, each of which holds an error. The licence of the data (CC BY-NC-SA
4.0) keeps it out of this package: `veridical data fetch felm`.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InputError, UsageError
from ..text.align import find
from ..text.normal import is_blank
from ..types import Struct
from .records import Gold, Ref, Sample, Unit

VERSIONS = {"817": 817, "847": 847}
"""Version -> how many samples it has: those with a smaller index."""
DEFAULT_TYPE = {"math": "reasoning_error", "reasoning": "reasoning_error"}
"""The error type of wrong segments in domains for which the file gives none (its authors, issue 3)."""
_ENUMERATOR = re.compile(r"\s*\(?\d{1,3}[.)]\s*")
_KNOWN = frozenset(
    [
        "index",
        "domain",
        "source",
        "prompt",
        "response",
        "segmented_response",
        "labels",
        "comment",
        "type",
        "ref",
        "ref_contents",
    ]
)


class Repair(Struct, frozen=True, kw_only=True):
    """Something in the file that was not as it should be, and what was made of it."""

    what: str
    ids: tuple[int, ...]
    """Samples in which it was; one entry for each place."""


class Loaded(Struct, frozen=True, kw_only=True):
    """The samples of a file, and what was done to get them."""

    path: str
    sha256: str
    samples: tuple[Sample, ...]
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()


class _Repairs:
    def __init__(self) -> None:
        self.found: dict[str, list[int]] = defaultdict(list)

    def add(self, what: str, id_: int, times: int = 1) -> None:
        self.found[what] += [id_] * times

    def listed(self) -> tuple[Repair, ...]:
        return tuple(Repair(what=what, ids=tuple(ids)) for what, ids in sorted(self.found.items()) if ids)


class _Row:
    """One object of the file, with its place for error messages."""

    def __init__(self, values: Any, path: str, line: int) -> None:
        self.values, self.path, self.line = values, path, line
        if not isinstance(values, dict):
            raise InputError(f"a {type(values).__name__}, not an object", file=path, line=line)

    def wrong(self, field: str, message: str) -> InputError:
        return InputError(message, file=self.path, line=self.line, field=field)

    def text(self, field: str) -> str:
        value = self.values.get(field)
        if not isinstance(value, str):
            raise self.wrong(field, "missing" if value is None else f"{_kind(value)}, not a string")
        return value

    def strings(self, field: str) -> list[Any]:
        """A list; "", NaN, null and a missing field are an empty one."""
        value = self.values.get(field)
        if value is None or value == "" or value != value:
            return []
        if not isinstance(value, list):
            raise self.wrong(field, f"{_kind(value)}, not a list")
        return value


def load(
    path: Path | str,
    *,
    version: str | None = None,
    drop_enumerators: bool = False,
    require_evidence: bool = False,
) -> Loaded:
    """The samples of a FELM file (JSON lines, whatever its ending; or one JSON array).

    `version` "817" or "847" takes that version's samples; None all. `drop_enumerators` leaves out segments without a
    word ("2.", blank ones); `require_evidence` samples without reference text. Raises InputError, naming line and
    field, for what cannot be used, such as labels that do not pair up with the segments.
    """
    if version is not None and version not in VERSIONS:
        raise UsageError(f"--version {version}: there are {' and '.join(VERSIONS)}")
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    repairs, samples, places = _Repairs(), [], {}
    for row in _rows(content, str(path)):
        made = _sample(row, repairs, drop_enumerators=drop_enumerators)
        if made.id in places:
            raise row.wrong("index", f"{made.id} is taken: lines {places[made.id]} and {row.line}")
        places[made.id] = row.line
        samples.append(made)
    if not samples:
        raise UsageError(f"{path}: no sample in it")
    notes = _notes(samples, version)
    chosen = [one for one in samples if version is None or one.id < VERSIONS[version]]
    chosen = [one for one in chosen if one.units and (one.has_evidence or not require_evidence)]
    if not chosen:
        raise UsageError(f"{path}: no sample is left of {len(samples)}")
    return Loaded(
        path=str(path),
        sha256=hashlib.sha256(content).hexdigest(),
        samples=tuple(chosen),
        repairs=repairs.listed(),
        notes=notes,
    )


def stratified(samples: Sequence[Sample], n: int, seed: int = 0) -> list[Sample]:
    """n samples, of each domain as many as its share asks for (largest remainders), in the order given."""
    if n < 1:
        raise UsageError(f"a sample needs at least one item: {n}")
    if n >= len(samples):
        return list(samples)
    domains: dict[str, list[Sample]] = defaultdict(list)
    for one in samples:
        domains[one.domain].append(one)
    exact = {name: n * len(items) / len(samples) for name, items in domains.items()}
    taken = {name: int(share) for name, share in exact.items()}
    for name in sorted(exact, key=lambda name: (taken[name] - exact[name], name))[: n - sum(taken.values())]:
        taken[name] += 1
    draw = random.Random(seed)
    chosen = {one.id for name in sorted(domains) for one in draw.sample(domains[name], taken[name])}
    return [one for one in samples if one.id in chosen]


def _notes(samples: Sequence[Sample], version: str | None) -> tuple[str, ...]:
    notes = []
    size = VERSIONS[version] if version else None
    if size and sum(one.id < size for one in samples) != size:
        held = sum(one.id < size for one in samples)
        notes.append(f"version {version} has {size} samples; the file holds {held} of them")
    if version is None and len(samples) > 817 and {one.id for one in samples} == set(range(847)):
        notes.append("the file is the version of 847: not comparable with figures for the first 817 (--version 817)")
    counted = Counter((one.prompt, one.response) for one in samples)
    if twice := sum(count - 1 for count in counted.values()):
        notes.append(f"{twice} samples repeat the prompt and response of another; all are kept")
    return tuple(notes)


def _rows(content: bytes, path: str) -> Iterator[_Row]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8", file=path, line=line) from None
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON ({error})", file=path) from None
        yield from (_Row(value, path, number) for number, value in enumerate(values, 1))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)  # takes NaN, which the file has and JSON has not
            except (ValueError, RecursionError) as error:
                raise InputError(f"not JSON ({error})", file=path, line=number) from None
            yield _Row(value, path, number)


def _sample(row: _Row, repairs: _Repairs, *, drop_enumerators: bool) -> Sample:
    id_ = _index(row, repairs)
    domain = row.text("domain")
    texts = row.strings("segmented_response")
    if not texts:
        raise row.wrong("segmented_response", "no segment")
    if wrong := next((text for text in texts if not isinstance(text, str)), None):
        raise row.wrong("segmented_response", f"{_kind(wrong)}, not a string")
    response = _response(row, texts, id_, repairs)
    labels, types, reasons = _labels(row, len(texts)), _types(row, texts, id_, repairs), _reasons(row, len(texts))
    spans = _spans(texts, response)
    units = [
        Unit(
            index=place,
            text=text,
            label=label,
            error_type=_type(type_, label, domain, id_, repairs),
            reason=reason,
            span=span,
        )
        for place, (text, label, type_, reason, span) in enumerate(
            zip(texts, labels, types, reasons, spans, strict=True)
        )
    ]
    if drop_enumerators:
        units = _worded(units, id_, repairs)
    made = Sample(
        id=id_,
        domain=domain,
        prompt=row.text("prompt"),
        response=response,
        units=tuple(units),
        refs=_refs(row, id_, repairs),
        source=source if isinstance(source := row.values.get("source"), str) else "",
        meta={name: value for name, value in row.values.items() if name not in _KNOWN},
    )
    try:
        msgspec.json.encode(made)
    except (UnicodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"cannot be kept as JSON ({error})", file=row.path, line=row.line) from None
    return made


def _index(row: _Row, repairs: _Repairs) -> int:
    value = row.values.get("index")
    if value is None:
        repairs.add("no index: the line's number, from 0", row.line - 1)
        return row.line - 1
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise row.wrong("index", f"{value!r} is no whole number from 0 up")
    return value


def _response(row: _Row, texts: list[str], id_: int, repairs: _Repairs) -> str:
    value = row.values.get("response")
    if isinstance(value, str):
        return value
    if value is not None and value == value:
        raise row.wrong("response", f"{_kind(value)}, not a string")
    repairs.add("response missing (NaN or null): put together from its segments", id_)
    return " ".join(text.strip() for text in texts if text.strip())


def _labels(row: _Row, n: int) -> list[Gold]:
    labels = row.strings("labels")
    if not labels:
        return [Gold.UNKNOWN] * n
    if len(labels) != n:
        raise row.wrong("labels", f"{len(labels)} labels for {n} segments")
    known = {True: Gold.FACTUAL, False: Gold.WRONG, None: Gold.UNKNOWN}
    if wrong := [one for one in labels if one is not None and not isinstance(one, bool)]:
        raise row.wrong("labels", f"{wrong[0]!r} is neither true nor false")
    return [known[label] for label in labels]


def _types(row: _Row, texts: list[str], id_: int, repairs: _Repairs) -> list[str | None]:
    types = row.strings("type")
    if len(types) > len(texts):
        raise row.wrong("type", f"{len(types)} types for {len(texts)} segments")
    if types and len(types) < len(texts):
        repairs.add("fewer error types than segments: the last ones are unknown", id_)
    if wrong := [one for one in types if one is not None and not isinstance(one, str)]:
        raise row.wrong("type", f"{_kind(wrong[0])}, not a string")
    return [one or None for one in types] + [None] * (len(texts) - len(types))


def _type(type_: str | None, label: Gold, domain: str, id_: int, repairs: _Repairs) -> str | None:
    if label is not Gold.WRONG:
        if type_:
            repairs.add("error type on a segment that is not wrong: left out", id_)
        return None
    if type_ is None and domain in DEFAULT_TYPE:
        repairs.add(f"no error type ({domain}): {DEFAULT_TYPE[domain]}", id_)
        return DEFAULT_TYPE[domain]
    if type_ is None:
        repairs.add("wrong segment without an error type: unknown", id_)
    return type_


def _reasons(row: _Row, n: int) -> list[str | None]:
    comments = row.strings("comment")
    given = [one.strip() or None if isinstance(one, str) else None for one in comments[:n]]
    return given + [None] * (n - len(given))


def _refs(row: _Row, id_: int, repairs: _Repairs) -> tuple[Ref, ...]:
    urls = [_address(url, id_, repairs) for url in row.strings("ref") if isinstance(url, str) and url.strip()]
    texts = [None if not isinstance(text, str) or is_blank(text) else text for text in row.strings("ref_contents")]
    if len(urls) == len(texts):
        return tuple(Ref(url=url, text=text) for url, text in zip(urls, texts, strict=True))
    if any(texts):  # which text is of which page is not said, and is not guessed
        repairs.add("not as many reference texts as addresses: not paired", id_)
    elif urls:
        repairs.add("addresses of references without any text", id_)
    return (*(Ref(text=text) for text in texts if text), *(Ref(url=url) for url in urls))


def _address(url: str, id_: int, repairs: _Repairs) -> str:
    clean = url.strip().rstrip(",;.")
    if clean != url:
        repairs.add("address of a reference ended in punctuation", id_)
    return clean


def _worded(units: Iterable[Unit], id_: int, repairs: _Repairs) -> list[Unit]:
    kept = []
    for unit in units:
        if _ENUMERATOR.fullmatch(unit.text):
            repairs.add("segment is a bare enumerator: left out", id_)
        elif is_blank(unit.text):
            repairs.add("segment is blank: left out", id_)
        else:
            kept.append(unit)
    return kept


def is_enumerator(text: str) -> bool:
    """Whether a segment is nothing but the number of a list item ("2.")."""
    return _ENUMERATOR.fullmatch(text) is not None


def _spans(texts: list[str], response: str) -> list[tuple[int, int] | None]:
    """Where each segment stands. They are not slices of the response: blanks and line ends were written anew."""
    spans: list[tuple[int, int] | None] = []
    at = 0
    for text in texts:
        bare = text.strip()
        start = response.find(bare, at) if bare else -1
        span = (start, start + len(bare)) if start >= 0 else _loosely(bare, response, at)
        spans.append(span)
        at = span[1] if span else at
    return spans


def _loosely(text: str, response: str, at: int) -> tuple[int, int] | None:
    if not text:
        return None
    found = find(text.replace("\\n", "\n"), response[at:]) or find(text, response[at:])
    return (at + found[0], at + found[1]) if found else None


def _kind(value: Any) -> str:
    kinds = {
        dict: "an object",
        list: "a list",
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
    }
    return "NaN" if value != value else kinds.get(type(value), f"a {type(value).__name__}")
