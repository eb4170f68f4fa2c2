"""`veridical analyse`: what the FActScore paper looked at, on any run or labelled file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from .. import analysis
from ..analysis import fields
from ..analysis.groups import with_beside
from ..analysis.marks import marks
from ..analysis.shares import rule_of
from ..compare import compare
from ..errors import UsageError
from ..gold import gold_reports
from ..inputs import read
from ..metrics import Macro, parse
from ..recall import Choice, from_data, resolved
from ..types import Report
from . import analysis_tables as tables
from . import show
from .options import AsJson
from .runs import METRIC, headline, is_run, run_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)

PLAIN = "factscore(gamma=0)"
_MOST_LEVELS = 12
"""Fields with more values than this are not analysed unless asked for."""
_COUNTS = ("view", "occurrence", "freq", "popularity", "count")
"""Parts of the names of numeric fields that say how well known a topic is."""


@app.command(
    help="The FActScore paper's analyses: support by group, by position in the text, by rarity, with and without "
    "citations; F1@K over K; stability and ranking of systems. Without options all that the data allow.\n\n"
    "Example: veridical analyse runs/mine --by frequency --position 5\n\n"
    "A file with people's labels works like a run: veridical analyse labelled/ChatGPT.jsonl"
)
def analyse(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or files with people's labels.")],
    by: Annotated[
        list[str] | None, typer.Option(help="Scores by this field; 'frequency,region' crosses two. May be repeated.")
    ] = None,
    position: Annotated[
        int | None, typer.Option(min=1, max=100, help="Support along the response, in so many parts.")
    ] = None,
    unit: Annotated[str, typer.Option(help="Place of the fact, or of its sentence.")] = "fact",
    citations: Annotated[bool, typer.Option("--citations", help="Support with and without marks such as [1].")] = False,
    authors: Annotated[bool, typer.Option("--authors", help="Take (Smith, 2020) for a citation too.")] = False,
    rarity: Annotated[
        list[str] | None, typer.Option(help="The metric against this count or level. May be repeated.")
    ] = None,
    stability: Annotated[str | None, typer.Option(help="Sizes of random subsets, as in 40,100,200.")] = None,
    subsets: Annotated[int, typer.Option(min=1, help="Subsets of each size.")] = 100,
    category: Annotated[str | None, typer.Option(help="Draw subsets evenly by this field.")] = None,
    curve: Annotated[bool, typer.Option("--curve", help="F1@K for every K, precision and recall.")] = False,
    ranking: Annotated[bool, typer.Option("--ranking", help="Rank the systems on their common prompts.")] = False,
    against: Annotated[
        list[Path] | None, typer.Option(help="Runs of a second estimator on the same systems, in the same order.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="As it is printed, such as f1@64; f1@median, f1@max: K from these runs (default: what the runs were "
            f"scored by first; of FActScore, and of labelled files, {PLAIN})."
        ),
    ] = None,
    rule: Annotated[
        str,
        typer.Option(help="Counting rule of labelled files: paper, irrelevant-in or irrelevant-out (docs/agree.md)."),
    ] = "paper",
    abstentions: Annotated[str, typer.Option(help="exclude, or zero.")] = "exclude",
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and the subsets.")] = 0,
    as_json: AsJson = False,
) -> None:
    note = None
    if metric is None:
        metric, note = _own_metric(runs)
    if not from_data(metric):
        parse(metric)  # what is no metric is said before anything is read
    sections = _distinct(
        [section for path, name in zip(runs, _names(runs), strict=True) for section in _sections(path, name, rule)]
    )
    (spelling,), choices = resolved([metric], lambda: [section.reports() for section in sections])
    asked = _Asked(
        metric=parse(spelling),
        by=by,
        position=position,
        unit=unit,
        citations=citations or authors,
        authors=authors,
        rarity=rarity,
        sizes=None if stability is None else _sizes(stability),
        subsets=subsets,
        category=category,
        curve=curve,
        ranking=ranking,
        abstentions=abstentions,
        level=level,
        seed=seed,
    )
    asked.everything = not any((by, position, asked.citations, rarity, stability is not None, curve, ranking, against))
    if asked.curve or asked.everything:
        choices = asked.points(sections, choices)
    found: dict[str, Any] = {"metric": asked.metric.name, "k": choices}
    found["runs"] = [_of_one(section, asked) for section in sections]
    found |= _of_all(sections, asked)
    if against:
        others = [
            other for path, name in zip(against, _names(against), strict=True) for other in _sections(path, name, rule)
        ]
        found["estimators"] = _estimators(sections, _distinct(others), asked)
    found["left_out"] = asked.left_out
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    out = show.out()
    tables.show_all(out, found)
    if note:
        out.print(f"note: {note}", markup=False)
    for line in (line for section in sections for line in section.remarks):
        out.print(line, markup=False, style="yellow")


def _own_metric(paths: Sequence[Path]) -> tuple[str, str | None]:
    """What the runs were scored by first, and what to tell of it; FActScore without its length penalty."""
    if not all(map(is_run, paths)):
        return PLAIN, None
    metric, note = headline(map(run_at, paths), PLAIN)
    return (PLAIN if metric == METRIC else metric), note


@dataclass
class _Asked:
    """The options, and what could not be done."""

    metric: Macro
    by: list[str] | None
    position: int | None
    unit: str
    citations: bool
    authors: bool
    rarity: list[str] | None
    sizes: list[int] | None
    subsets: int
    category: str | None
    curve: bool
    ranking: bool
    abstentions: str
    level: float
    seed: int
    everything: bool = False
    ks: list[int] = field(default_factory=list)
    """Points of the curves beside the usual ones."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Analysis -> why it is missing, where nothing was asked for by name."""

    @property
    def common(self) -> dict[str, Any]:
        return {"level": self.level, "seed": self.seed}

    def points(self, sections: Sequence[_Section], told: list[Choice]) -> list[Choice]:
        """Puts the median and the greatest K of all sections on the curves; what to tell of every K."""
        repeats = "(repeats)" if self.metric.repeats else ""
        try:
            _, found = resolved(
                [f"f1@{rule}{repeats}" for rule in ("median", "max")], lambda: [s.reports() for s in sections]
            )
        except UsageError:  # no response has a relevant fact: no curve either
            return told
        self.ks = [choice.k for choice in found]
        return [*told, *(choice for choice in found if choice not in told)]

    def omit(self, name: str, why: object) -> None:
        self.left_out.setdefault(name, str(why))


@dataclass
class _Section:
    """The reports of one system of one run, and what their fields look like."""

    name: str
    reports: Callable[[], Iterator[Report]]
    system: str | None = None
    levels: dict[str, set[str]] = field(default_factory=dict)
    """Field -> its values, up to one more than are looked at."""
    counts: set[str] = field(default_factory=set)
    """Fields whose values are all numbers."""
    generations: int = 0
    cites: bool = False
    remarks: list[str] = field(default_factory=list)

    def look(self, report: Report) -> None:
        self.generations += 1
        self.cites = self.cites or bool(marks(report.generation.text))
        for name, found in report.generation.metadata.items():
            numeric = fields.number(found) is not None
            if name not in self.levels and numeric:
                self.counts.add(name)
            elif not numeric and found is not None:
                self.counts.discard(name)
            seen = self.levels.setdefault(name, set())
            if len(seen) <= _MOST_LEVELS and isinstance(found, (str, bool, int)):
                seen.add(fields.level(report.generation, name))

    def grouping(self) -> list[str]:
        """Fields with a few values, each of several generations."""
        few = [name for name, seen in self.levels.items() if 2 <= len(seen) <= _MOST_LEVELS]
        return [name for name in few if len(self.levels[name]) * 5 <= self.generations]

    def rarities(self) -> list[str]:
        """Fields that say how well known a topic is."""
        counts = [name for name in self.counts if any(part in name.lower() for part in _COUNTS)]
        return [*sorted(counts), *(name for name in self.grouping() if self._is_frequency(name))]

    def _is_frequency(self, name: str) -> bool:
        words = {word for step in fields.SCALES[0] for word in step}
        return name not in self.counts and self.levels[name] <= words


def _sections(path: Path, name: str, rule: str) -> list[_Section]:
    """One for each system in the run or labelled file; what is no run is read as labels."""
    if is_run(path):
        folder = run_at(path)
        info = folder.info()
        reports: Callable[[], Iterator[Report]] = folder.reports
        expected = info.generations
    else:
        reports, expected = (lambda: gold_reports(read(str(path)), rule=rule)), None
    found: dict[str | None, _Section] = {}
    labelled = False
    for report in reports():
        system = report.generation.system
        section = found.setdefault(system, _Section(name, reports, system))
        section.look(report)
        labelled = labelled or report.abstained or not report.failure
    made = list(found.values())
    if not made or not (labelled or is_run(path)):
        raise UsageError(f"{path} holds no {'reports' if path.is_dir() else 'labelled facts'} to analyse")
    total = sum(section.generations for section in made)
    if expected is not None and total < expected:
        made[0].remarks.append(f"unfinished: {name} reports {total} of {expected} generations")
    if len(made) > 1:
        for section in made:
            section.name = f"{name}: {section.system or 'no system'}"
            section.reports = _filtered(reports, section.system)
    return made


def _filtered(reports: Callable[[], Iterator[Report]], system: str | None) -> Callable[[], Iterator[Report]]:
    return lambda: (report for report in reports() if report.generation.system == system)


def _of_one(section: _Section, asked: _Asked) -> dict[str, Any]:
    """The analyses of one system."""
    metric, reports = asked.metric, section.reports
    found: dict[str, Any] = {"name": section.name}
    found["overview"] = analysis.overview(reports(), metric, abstentions=asked.abstentions, **asked.common)
    wanted = asked.by or (_auto_by(section, asked) if asked.everything else [])
    scored = with_beside(metric)
    found["groups"] = [
        analysis.groups(reports(), names, scored, abstentions=asked.abstentions, **asked.common) for names in wanted
    ]
    if asked.position or asked.everything:
        found["positions"] = analysis.positions(
            reports(), bins=asked.position or 5, unit=asked.unit, rule=rule_of(metric), **asked.common
        )
    if asked.citations or (asked.everything and section.cites):
        found["citations"] = analysis.citations(reports(), authors=asked.authors, rule=rule_of(metric), **asked.common)
    elif asked.everything:
        asked.omit(f"citations of {section.name}", "its texts have no marks such as [1]")
    if asked.curve or asked.everything:
        found["curve"] = analysis.curve(reports(), also=asked.ks, repeats=metric.repeats, **asked.common)
    rarities = asked.rarity or (section.rarities() if asked.everything else [])
    if asked.everything and not rarities:
        asked.omit(f"rarity of {section.name}", "no field is a count of views or occurrences, or a level of frequency")
    found["rarity"] = [
        analysis.rarity(reports(), name, metric, abstentions=asked.abstentions, **asked.common) for name in rarities
    ]
    return found


def _auto_by(section: _Section, asked: _Asked) -> list[str]:
    wanted = section.grouping()
    if not wanted:
        why = f"no field has 2 to {_MOST_LEVELS} values with 5 generations each; name one with --by"
        asked.omit(f"groups of {section.name}", why)
    return wanted


def _of_all(sections: Sequence[_Section], asked: _Asked) -> dict[str, Any]:
    """Stability and ranking, which look at all systems together."""
    found: dict[str, Any] = {}
    runs = [(section.name, section.reports) for section in sections]
    if asked.sizes or asked.everything:
        category = asked.category or _auto_category(sections)
        made = analysis.stability(
            [(name, reports()) for name, reports in runs],
            asked.metric,
            sizes=asked.sizes or analysis.SIZES,
            subsets=asked.subsets,
            category=category,
            seed=asked.seed,
            abstentions=asked.abstentions,
        )
        if made.sizes or asked.sizes:
            found["stability"] = made
        else:
            asked.omit("stability", f"{made.prompts} prompts are not more than the smallest subset")
    if (asked.curve or asked.everything) and len(sections) > 1:
        made = analysis.leaders([(name, reports()) for name, reports in runs], repeats=asked.metric.repeats)
        if made:
            found["leaders"] = made
        else:
            asked.omit("leaders at each K", "the systems have no prompt in common with a verdict in all")
    if asked.ranking or asked.everything:
        if len(sections) < 2:
            asked.omit("ranking", "it needs two runs or systems")
        else:
            found |= _ranking(runs, asked)
    return found


def _ranking(runs: Sequence[tuple[str, Callable[[], Iterator[Report]]]], asked: _Asked) -> dict[str, Any]:
    try:
        made = compare(
            [(name, reports()) for name, reports in runs], asked.metric, abstentions=asked.abstentions, **asked.common
        )
    except UsageError as error:
        if asked.ranking:
            raise
        asked.omit("ranking", error)
        return {}
    return {"ranking": made}


def _estimators(first: Sequence[_Section], second: Sequence[_Section], asked: _Asked) -> analysis.Estimators:
    """Matched by the names of the systems, else by order."""
    names = [section.system or section.name for section in first]
    others = [section.system or section.name for section in second]
    if not set(names) & set(others):
        if len(names) != len(others):
            raise UsageError(f"--against needs as many runs as there are, {len(names)}, in their order: {len(others)}")
        others = names
    return analysis.estimators(
        [(name, section.reports()) for name, section in zip(names, first, strict=True)],
        [(name, section.reports()) for name, section in zip(others, second, strict=True)],
        asked.metric,
        abstentions=asked.abstentions,
        **asked.common,
    )


def _auto_category(sections: Sequence[_Section]) -> str | None:
    """FActScore's two dimensions, where all have them."""
    has = all({"frequency", "region"} <= section.levels.keys() for section in sections)
    return "frequency,region" if has else None


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--stability takes sizes such as 40,100,200, not {text!r}") from None
    if min(sizes) < 1:
        raise UsageError(f"--stability takes sizes of at least 1, not {text!r}")
    return sizes


def _names(paths: Sequence[Path]) -> list[str]:
    """Names of the folders, or of the files without their endings; whole paths where these are not distinct."""
    short = [path.resolve().name if path.is_dir() else path.name.split(".")[0] or str(path) for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _distinct(sections: list[_Section]) -> list[_Section]:
    named = [section.name for section in sections]
    if len(set(named)) < len(named):
        raise UsageError(f"the same run is named twice: {', '.join(named)}")
    return sections
