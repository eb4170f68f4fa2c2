"""Vectors of tokens in their context, and of masked places: what the nonparametric estimator compares."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError, UsageError
from . import masked_lm
from .embedded import locate, packaged
from .masked_lm import MaskedLM

T = TypeVar("T")
Skip = Callable[[int, str, str], bool]
"""Whether a token is passed over: by its id, by the text that it stands for, and by the word that this is in."""


@dataclass(frozen=True)
class TokenVectors:
    """The n tokens of a text, without special ones."""

    ids: NDArray[np.int64]
    """(n,)"""
    vectors: NDArray[np.float32]
    """(n, d): the last layer's."""


@dataclass(frozen=True)
class MaskedTokens:
    """The m tokens of a text that were masked, each alone while all others were shown."""

    ids: NDArray[np.int64]
    """(m,): what stood under the mask."""
    names: tuple[str, ...]
    """The text of each."""
    vectors: NDArray[np.float32]
    """(m, d): the last layer's, at the mask."""


class TokenEncoder(Protocol):
    """A masked language model as an encoder. `name` and `identity` go into signatures, as with `LanguageModel`."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        """All tokens of each text in its context. Raises `ModelError`."""
        ...

    async def masked(self, texts: Sequence[str], skip: Skip, *, lead: str = "") -> list[MaskedTokens]:
        """Of each `lead` + text every token after the lead that is neither special nor to be skipped, masked in turn.

        An unknown token (BERT's [UNK]) is not special here: it is found nowhere, since `passages` leaves it out.
        Raises `ModelError`.
        """
        ...

    async def close(self) -> None: ...


def open_token_encoder(spec: str) -> TokenEncoder:
    """The encoder that a name stands for; it is loaded at the first call.

    Names: "hf/ORG/NAME" or "hf/ORG/NAME@REVISION" of the Hugging Face hub (fetched now unless it is in the hub's
    cache), "hf/PATH" of a folder, "embedded/minilm" for a fetched model. Raises `UsageError` for a name, folder or
    package that is missing and for weights that are not safetensors, `FatalError` where the hub does not answer.
    """
    provider, _, rest = spec.partition("/")
    if provider == "embedded" and rest:
        folder = locate(packaged(rest).name)
        if folder is None:
            raise UsageError(f"{spec} has not been fetched yet: veridical models fetch {rest}")
        return HFTokenEncoder(folder, name=spec)
    if provider != "hf" or not rest:
        raise UsageError(f"no such token encoder: {spec!r}; names are hf/ORG/NAME, hf/FOLDER and embedded/NAME")
    folder = Path(rest).expanduser() if rest.startswith("~/") else Path(rest)
    if folder.is_dir():
        return HFTokenEncoder(folder)
    if not re.fullmatch(r"\w[\w.-]*/[\w.-]+(?:@[\w./-]+)?", rest):
        raise UsageError(f"{spec}: neither a folder nor ORG/NAME of the Hugging Face hub")
    return HFTokenEncoder(masked_lm.snapshot(*rest.partition("@")[::2]), name=spec)


@dataclass
class HFTokenEncoder:
    """A folder with a masked language model for transformers: RoBERTa, BERT and whatever else has a mask token.

    Read from safetensors only, without code of the model's own, in float32. It is loaded at the first call and runs
    one call at a time, in a thread of its own. The vectors of passages are kept, so that all facts of a page, also
    those that ask at the same time, have it encoded once.

    What is masked is the token at its place: the text is never decoded in between. FActScore's code decodes the masked
    tokens to a text and encodes that, which `reencode=True` repeats. With byte pairs (RoBERTa) the tokens are the same
    but for repeated blanks and a few apostrophes; with word pieces (BERT) the rest of a masked word becomes a new word.
    """

    folder: Path
    name: str = ""
    """"hf/folder@hash" if empty."""
    window: int = 512
    """Longest input in tokens; less where the model has fewer positions. Longer passages are cut into windows; of a
    longer query the part around the mask is shown."""
    overlap: int = 128
    """Tokens that neighbouring windows share at least, up to half a window. Each token's vector is from the window that
    has more around it."""
    bare: bool = True
    """Passages go in without the begin and end tokens that the model knows, as in FActScore's code; masked texts have
    them."""
    reencode: bool = False
    """Decode and encode each masked text, as in FActScore's code."""
    batch_tokens: int = 8192
    """Size of a batch, padding included."""
    cache_bytes: int = 2**28
    """Most that is kept of passages' vectors."""
    device: str = "cpu"
    """As torch names it: "cpu", "cuda", "cuda:1", "mps"."""
    _kept: _Kept = field(init=False, repr=False)
    _lm: MaskedLM | None = field(default=None, init=False, repr=False)
    _thread: ThreadPoolExecutor | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.folder = Path(self.folder)
        if self.overlap < 0 or min(self.window, self.batch_tokens) < 1:
            raise UsageError(f"no such window, overlap or batch: {self.window}, {self.overlap}, {self.batch_tokens}")
        self._dimension: int = masked_lm.dimension(masked_lm.check(self.folder))
        self._sha256 = masked_lm.fingerprint(self.folder)
        self._kept = _Kept(self.cache_bytes)
        self.name = self.name or f"hf/{self.folder.resolve().name}@{self._sha256[:8]}"

    @property
    def identity(self) -> str:
        """Hash of weights, configuration and vocabulary, and how they are used: the folder's place is not in it."""
        return (
            f"sha256:{self._sha256} window={self.window} overlap={self.overlap} bare={self.bare} "
            f"reencode={self.reencode}"
        )

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    async def passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        """See `TokenEncoder`. The arrays are shared and cannot be written to."""
        return await self._run(lambda stopped: self._passages(texts, stopped))

    async def masked(self, texts: Sequence[str], skip: Skip, *, lead: str = "") -> list[MaskedTokens]:
        """See `TokenEncoder`."""
        return await self._run(lambda stopped: self._masked(texts, skip, lead, stopped))

    async def close(self) -> None:
        """Free the model once the call under way has ended; those behind it are dropped. Another loads it again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.shutdown, wait=True, cancel_futures=True)
        self._lm, self._kept = None, _Kept(self.cache_bytes)

    async def _run(self, work: Callable[[threading.Event], T]) -> T:
        """In the thread; a call that is cancelled stops before its next batch."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        stopped = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, stopped)
        finally:
            stopped.set()

    def _passages(self, texts: Sequence[str], stopped: threading.Event) -> list[TokenVectors]:
        lm = self._loaded()
        found = {text: kept for text in texts if (kept := self._kept.get(text))}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        whole = [lm.plain(text) for text in missing]
        states = [np.empty((len(ids), self.dimension), np.float32) for ids in whole]
        room = self._room(lm, bare=self.bare)
        cuts = [
            (place, cut)
            for place, ids in enumerate(whole)
            for cut in windows(len(ids), room, min(self.overlap, room // 2))
        ]
        rows = [whole[place][cut.start : cut.end] for place, cut in cuts]
        lead = 0 if self.bare else len(lm.begin)
        if not self.bare:
            rows = [lm.begin + row + lm.end for row in rows]
        for number, vectors in self._forward(lm, rows, stopped):
            place, cut = cuts[number]
            shift = lead - cut.start
            states[place][cut.first : cut.last] = vectors[cut.first + shift : cut.last + shift]
        for text, ids, vectors in zip(missing, whole, states, strict=True):
            wanted = ~np.isin(np.array(ids, np.int64), list(lm.special | lm.unknown))
            found[text] = TokenVectors(np.array(ids, np.int64)[wanted], vectors[wanted])
            self._kept.put(text, found[text])
        return [found[text] for text in texts]

    def _masked(self, texts: Sequence[str], skip: Skip, lead: str, stopped: threading.Event) -> list[MaskedTokens]:
        lm = self._loaded()
        cases = [self._targets(lm, lead + text, len(lead.rstrip()), skip) for text in texts]
        copies = [self._copy(lm, ids, place) for ids, places, _ in cases for place in places]
        vectors = np.empty((len(copies), self.dimension), np.float32)
        for number, states in self._forward(lm, [row for row, _ in copies], stopped):
            vectors[number] = states[copies[number][1]]
        ends = list(itertools.accumulate(len(places) for _, places, _ in cases))
        return [
            MaskedTokens(np.array([ids[p] for p in places], np.int64), names, vectors[end - len(places) : end])
            for (ids, places, names), end in zip(cases, ends, strict=True)
        ]

    def _targets(
        self, lm: MaskedLM, query: str, start: int, skip: Skip
    ) -> tuple[list[int], list[int], tuple[str, ...]]:
        """The query's tokens, the places of those to mask, and their texts."""
        ids, spans = lm.spans(query)
        names = [query[a:b].strip() for a, b in spans]
        places = [
            place
            for place, (token, name, span) in enumerate(zip(ids, names, spans, strict=True))
            if span[1] > start and token not in lm.special and not skip(token, name, _word(query, *span))
        ]
        return ids, places, tuple(names[place] for place in places)

    def _copy(self, lm: MaskedLM, ids: list[int], place: int) -> tuple[list[int], int]:
        """The input with a mask at the place, and where it is there."""
        masked = [*ids[:place], lm.mask, *ids[place + 1 :]]
        if self.reencode:
            masked = lm.plain(lm.tokenizer.decode(masked))
            place = masked.index(lm.mask)
        room = self._room(lm, bare=False)
        start = max(0, min(place - room // 2, len(masked) - room))
        return [*lm.begin, *masked[start : start + room], *lm.end], len(lm.begin) + place - start

    def _room(self, lm: MaskedLM, *, bare: bool) -> int:
        room = min(self.window, lm.positions) - (0 if bare else len(lm.begin) + len(lm.end))
        if room < 1:
            raise UsageError(f"{self.name}: a window of {self.window} tokens has no room for text")
        return room

    def _forward(
        self, lm: MaskedLM, rows: Sequence[list[int]], stopped: threading.Event
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The number of each row that is not empty and its last layer (length, d); the longest come first."""
        import torch

        order = sorted((n for n, row in enumerate(rows) if row), key=lambda n: -len(rows[n]))
        while order and not stopped.is_set():
            width = len(rows[order[0]])
            batch, order = _split(order, max(1, self.batch_tokens // width))
            ids = torch.full((len(batch), width), lm.pad, dtype=torch.long)
            shown = torch.zeros((len(batch), width), dtype=torch.long)
            for at, number in enumerate(batch):
                ids[at, : len(rows[number])] = torch.tensor(rows[number])
                shown[at, : len(rows[number])] = 1
            try:
                with torch.inference_mode():
                    out = lm.model(input_ids=ids.to(self.device), attention_mask=shown.to(self.device))
                    states = out.last_hidden_state.float().cpu().numpy()
            except RuntimeError as error:  # out of memory, say
                raise ModelError(f"{self.name}: {str(error)[:500]}") from error
            if not np.isfinite(states[shown.numpy() == 1]).all():
                raise ModelError(f"{self.name} gives vectors that are not finite")
            for at, number in enumerate(batch):
                yield number, states[at, : len(rows[number])]

    def _loaded(self) -> MaskedLM:
        if self._lm is None:
            self._lm = masked_lm.load(self.folder, self.device)
        return self._lm


# Windows


@dataclass(frozen=True)
class Window:
    """Tokens `start` to `end` are shown; the vectors of `first` to `last` are taken."""

    start: int
    end: int
    first: int
    last: int


def windows(length: int, size: int, overlap: int) -> list[Window]:
    """Windows of `size` tokens over `length`, neighbours sharing `overlap` or more; each token is taken once.

    The border between two windows is the middle of what they share. Needs 0 <= overlap < size.
    """
    starts = [*range(0, max(length - size, 0), size - overlap), max(length - size, 0)]
    ends = [min(start + size, length) for start in starts]
    borders = [0, *((after + end) // 2 for after, end in zip(starts[1:], ends, strict=False)), length]
    return [Window(*cut) for cut in zip(starts, ends, borders[:-1], borders[1:], strict=True)]


def _word(text: str, start: int, end: int) -> str:
    """The characters with all letters and digits that they run on into."""
    while start > 0 and text[start - 1 : start + 1].isalnum() and start < end:
        start -= 1
    while end < len(text) and text[end - 1 : end + 1].isalnum() and start < end:
        end += 1
    return text[start:end].strip()


def _split(items: list[int], size: int) -> tuple[list[int], list[int]]:
    return items[:size], items[size:]


# What is kept


class _Kept:
    """Passages' vectors by the text's hash, the least used ones dropped when they come to more than `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._entries: OrderedDict[bytes, TokenVectors] = OrderedDict()

    def get(self, text: str) -> TokenVectors | None:
        key = _digest(text)
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, text: str, entry: TokenVectors) -> None:
        entry.ids.flags.writeable = entry.vectors.flags.writeable = False
        self._entries[_digest(text)] = entry
        self._bytes += _size(entry)
        while self._bytes > self._most:
            self._bytes -= _size(self._entries.popitem(last=False)[1])


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _size(entry: TokenVectors) -> int:
    return entry.ids.nbytes + entry.vectors.nbytes
