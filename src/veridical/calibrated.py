"""A judge whose probabilities are mapped to how often it is right, and whose cut depends on the kind of text.

Both come from labelled claims (`veridical meta --fit-calibration`). A judge's own cut suits the texts that it was made
on; on others it calls too much or too little supported, while its order may still be good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from .calibration import Calibration, Recipe
from .ensemble import gives_probability, warnings
from .errors import InputError, UsageError
from .signature import Signature, sign
from .types import AtomicFact, Evidence, Failure, Generation, Label, Report, Struct, Verdict
from .verify import Verifier

CUT = 0.5
"""Of a calibrated probability, where no thresholds are given."""
DOMAIN = "domain"
"""Field of a generation's metadata that names its domain."""
_NAMED = 5
"""Differences, or domains, that are named."""


class Thresholds(Struct, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """Least probability, as the judge gives it, of a fact that is called supported.

    Raises ValueError for one outside [0, 1].
    """

    judge: str
    """Name of the judge that they were fitted for."""
    recipe: Recipe = {}
    """Its settings, where they are known (`recipe`)."""
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
        """That of a domain, else the overall one."""
        own = self.own(domain)
        return self.overall if own is None else own

    def own(self, domain: str | None) -> float | None:
        """That of a domain ("felm/science", or "science" where one set alone has it); None: there is none."""
        if not domain:
            return None
        if domain in self.domains:
            return self.domains[domain]
        found = {value for name, value in self.domains.items() if name.partition("/")[2] == domain}
        return found.pop() if len(found) == 1 else None

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


def recipe(fields: Mapping[str, Any]) -> Recipe:
    """Of the flat fields of a method's signature those that its judge's probabilities depend on: its settings, but not
    where evidence comes from, so that what was fitted on a set with evidence inside serves with a knowledge source."""
    inside = {key.removeprefix("verifier."): value for key, value in fields.items() if key.startswith("verifier.")}
    return {key: value for key, value in inside.items() if "gatherer" not in key.split(".")}


@dataclass(frozen=True)
class _Judge:
    verifier: Verifier


def suited(verifier: Verifier, fit: Calibration | Thresholds) -> None:
    """Raises UsageError for a fit of another judge, or of other settings of this one; both are named."""
    what = "calibration was" if isinstance(fit, Calibration) else "thresholds were"
    if fit.judge and fit.judge != verifier.name:
        raise UsageError(f"the {what} fitted for {fit.judge}, and the judge is {verifier.name}")
    if fit.recipe and (found := Signature(recipe(sign(_Judge(verifier)).fields)).differences(fit.recipe)):
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise UsageError(
            f"the {what} fitted for {fit.judge} with other settings than those of {verifier.name}: "
            f"{'; '.join(found[:_NAMED])}{more}"
        )


@dataclass(frozen=True)
class Calibrated:
    """A `Verifier` around another one. A verdict's probability becomes the calibrated one; the judge's own, and its
    label, are kept as `Verdict.raw` and `raw_label`. Supported is what reaches the threshold of its generation's domain
    (the judge's own probability counts), or without thresholds one half when calibrated. What was contradicted and is
    still not supported stays so. Verdicts without a probability, irrelevant facts and failures are left as they are.

    Raises UsageError for a judge without probabilities, and for a fit of another judge or of other settings of it.
    """

    verifier: Verifier
    calibration: Calibration | None = None
    thresholds: Thresholds | None = None
    domain: str = DOMAIN

    def __post_init__(self) -> None:
        if not gives_probability(self.verifier):
            raise UsageError(f"{self.name} gives no probabilities to calibrate: read it by logprobs, if it can")
        for fit in (self.calibration, self.thresholds):
            if fit:
                suited(self.verifier, fit)

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
        made = await self.verifier.verify(facts, generation)
        where = self.where(generation)
        return [self._mapped(one, where) if isinstance(one, Verdict) else one for one in made]

    def where(self, generation: Generation) -> str | None:
        """Its domain."""
        domain = generation.metadata.get(self.domain)
        return None if domain is None else str(domain)

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
        return msgspec.structs.replace(
            verdict,
            label=label,
            probability=probability,
            raw=raw if self.calibration else None,
            raw_label=verdict.label,
        )


class CalibratedSummary(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What a calibration and thresholds did to the verdicts of a run."""

    verdicts: int = 0
    """Without irrelevant facts."""
    without_probability: int = 0
    """Of these; they are as the judge gave them."""
    turned: int = 0
    """Verdicts that the judge itself called supported and are not, or the reverse."""
    generations: int = 0
    """With verdicts."""
    overall: int = 0
    """Of these, judged by the overall threshold because there is none for their domain."""
    without_domain: int = 0
    """Of these, without the field that names the domain."""
    unknown: tuple[str, ...] = ()
    """Some of the domains that have no threshold."""

    def lines(self) -> list[str]:
        """In words, for people."""
        told = [
            f"calibrated: {self.without_probability:,} of {self.verdicts:,} verdicts had no probability and are as the "
            f"judge gave them; of {self.turned:,} the calibration or threshold turned the label"
        ]
        if self.overall:
            why = [f"{self.without_domain:,} without a domain"] if self.without_domain else []
            why += [f"no threshold for {', '.join(self.unknown)}"] if self.unknown else []
            told.append(f"overall threshold for {self.overall:,} of {self.generations:,} generations: {'; '.join(why)}")
        return told


def summarise(reports: Iterable[Report], judge: Calibrated) -> CalibratedSummary:
    """Of a run of that judge; the reports may be streamed."""
    verdicts = without = turned = generations = overall = nowhere = 0
    unknown: dict[str, None] = {}
    for report in reports:
        own = [j.verdict for j in report.facts if j.verdict and j.verdict.label is not Label.IRRELEVANT]
        verdicts += len(own)
        without += sum(one.probability is None for one in own)
        turned += sum(
            one.raw_label is not None and (one.raw_label is Label.SUPPORTED) != (one.label is Label.SUPPORTED)
            for one in own
        )
        generations += bool(own)
        domain = judge.where(report.generation)
        if own and judge.thresholds and judge.thresholds.own(domain) is None:
            overall += 1
            if not domain:
                nowhere += 1
            elif len(unknown) < _NAMED:
                unknown[domain] = None
    return CalibratedSummary(
        verdicts=verdicts,
        without_probability=without,
        turned=turned,
        generations=generations,
        overall=overall,
        without_domain=nowhere,
        unknown=tuple(unknown),
    )
