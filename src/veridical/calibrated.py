"""A judge whose probabilities are mapped to how often it is right, and whose cut depends on the kind of text.

Both come from labelled claims (`veridical meta --fit-calibration`). A judge's own cut suits the texts that it was made
on; on others it calls too much or too little supported, while its order may still be good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .calibration import Calibration
from .ensemble import gives_probability, warnings
from .errors import InputError, UsageError
from .types import AtomicFact, Evidence, Failure, Generation, Label, Struct, Verdict, Vote
from .verify import Verifier

CUT = 0.5
"""Of a calibrated probability, where no thresholds are given."""
DOMAIN = "domain"
"""Field of a generation's metadata that names its domain."""


class Thresholds(Struct, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """Least probability, as the judge gives it, of a fact that is called supported.

    Raises ValueError for one outside [0, 1].
    """

    judge: str
    """Name of the judge that they were fitted for."""
    overall: float
    domains: dict[str, float] = {}
    """By set ("wikibio"), and by set and domain ("felm/science")."""

    def __post_init__(self) -> None:
        for value in (self.overall, *self.domains.values()):
            if not 0 <= value <= 1:
                raise ValueError(f"a threshold is from 0 to 1, not {value}")

    @property
    def fingerprint(self) -> str:
        """First 12 digits of the SHA-256 of all fields: what a signature holds."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:12]

    def of(self, domain: str | None) -> float:
        """For a domain ("felm/science", or "science" where one set alone has it), else the overall one."""
        if not domain:
            return self.overall
        if domain in self.domains:
            return self.domains[domain]
        found = {value for name, value in self.domains.items() if name.partition("/")[2] == domain}
        return found.pop() if len(found) == 1 else self.overall

    def save(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")

    @classmethod
    def load(cls, path: Path) -> Thresholds:
        """Read them back. Raises InputError, which names the file."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=str(path)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"no thresholds: {error}", file=str(path)) from None


@dataclass(frozen=True)
class Calibrated:
    """A `Verifier` around another one. A verdict's probability becomes the calibrated one; the judge's own, with its
    label, is kept as the verdict's only vote. Supported is what reaches the threshold of its generation's domain (the
    judge's own probability counts), or without thresholds one half when calibrated. What was contradicted and is still
    not supported stays so. Verdicts without a probability, irrelevant facts and failures are left as they are.

    Raises UsageError for a judge without probabilities, and for a fit of another judge.
    """

    verifier: Verifier
    calibration: Calibration | None = None
    thresholds: Thresholds | None = None
    domain: str = DOMAIN

    def __post_init__(self) -> None:
        if not gives_probability(self.verifier):
            raise UsageError(f"{self.name} gives no probabilities to calibrate: read it by logprobs, if it can")
        for what, fit in (("calibration", self.calibration), ("thresholds", self.thresholds)):
            if fit and fit.judge and fit.judge != self.name:
                raise UsageError(f"the {what} were fitted for {fit.judge}, and the judge is {self.name}")

    @property
    def name(self) -> str:
        return self.verifier.name

    @property
    def warning(self) -> str | None:
        return warnings((self.verifier,))

    async def verify(
        self, facts: Sequence[tuple[AtomicFact, Evidence]], generation: Generation
    ) -> list[Verdict | Failure]:
        """See the class; in the order of the facts."""
        domain = generation.metadata.get(self.domain)
        made = await self.verifier.verify(facts, generation)
        where = None if domain is None else str(domain)
        return [self._mapped(one, where) if isinstance(one, Verdict) else one for one in made]

    def _mapped(self, verdict: Verdict, domain: str | None) -> Verdict:
        raw = verdict.probability
        if raw is None or verdict.label == Label.IRRELEVANT:
            return verdict
        probability = self.calibration(raw) if self.calibration else raw
        supported = raw >= self.thresholds.of(domain) if self.thresholds else probability >= CUT
        label = verdict.label
        if supported:
            label = Label.SUPPORTED
        elif label == Label.SUPPORTED:
            label = Label.NOT_ENOUGH_EVIDENCE
        own = Vote(judge=verdict.judge, label=verdict.label, probability=raw)
        return msgspec.structs.replace(verdict, label=label, probability=probability, votes=verdict.votes or (own,))
