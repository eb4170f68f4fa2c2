"""A judge with a fitted calibration and thresholds by domain: what becomes of its verdicts, how it is scored with."""

import json

import pytest

from veridical import cli
from veridical.calibrated import Calibrated, Thresholds
from veridical.calibration import Calibration
from veridical.errors import InputError, ModelError, UsageError
from veridical.failures import failure
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Generation, Label, Verdict
from veridical.verifiers.embedded import EmbeddedJudge

HALVED = Calibration(kind="isotonic", n=10, knots=((0.0, 0.1), (1.0, 0.6)), judge="fixed")
BY_DOMAIN = Thresholds(judge="fixed", overall=0.5, domains={"felm/math": 0.9, "felm/science": 0.2, "wice/science": 0.4})


class Fixed:
    """Says what it is told to, of a generation's facts in order."""

    name = "fixed"

    def __init__(self, *outcomes):
        self.outcomes = outcomes

    async def verify(self, facts, generation):
        return list(self.outcomes)


def said(probability, label=Label.SUPPORTED, mode="features"):
    return Verdict(label=label, judge="fixed", probability=probability, mode=mode)


async def judged(*outcomes, domain=None, **fits):
    facts = [(AtomicFact(id=str(n), text="A.", sentence=0), Evidence()) for n in range(len(outcomes))]
    generation = Generation(id="g", text="A.", metadata={"domain": domain} if domain else {})
    return await Calibrated(Fixed(*outcomes), **fits).verify(facts, generation)


async def test_a_probability_is_mapped_and_the_judge_s_own_is_kept():
    high, low = await judged(said(0.9), said(0.6), calibration=HALVED)
    assert (high.label, round(high.probability, 6)) == (Label.SUPPORTED, 0.55)
    assert (low.label, round(low.probability, 6)) == (Label.NOT_ENOUGH_EVIDENCE, 0.4)
    assert (low.raw, low.raw_label, low.votes) == (0.6, Label.SUPPORTED, ())


async def test_the_cut_is_that_of_the_domain_on_the_judge_s_own_scale():
    for domain, label in (
        ("math", Label.NOT_ENOUGH_EVIDENCE),
        ("felm/science", Label.SUPPORTED),
        (None, Label.SUPPORTED),
    ):
        [verdict] = await judged(said(0.6), domain=domain, thresholds=BY_DOMAIN)
        assert (verdict.label, verdict.probability) == (label, 0.6)
        assert (verdict.raw, verdict.raw_label) == (None, Label.SUPPORTED)  # no calibration: it is the judge's own
    assert BY_DOMAIN.of("science") == BY_DOMAIN.overall  # two sets have it, with different cuts


async def test_what_was_contradicted_stays_so_unless_it_becomes_supported():
    stays, turns = await judged(said(0.3, Label.CONTRADICTED), said(0.7, Label.CONTRADICTED), thresholds=BY_DOMAIN)
    assert (stays.label, turns.label) == (Label.CONTRADICTED, Label.SUPPORTED)


async def test_what_has_no_probability_is_left_as_it_is():
    lost = failure("verify", ModelError("gone"))
    mute, beside = said(None, Label.NOT_ENOUGH_EVIDENCE, "no evidence"), said(0.9, Label.IRRELEVANT)
    assert await judged(lost, mute, beside, calibration=HALVED, thresholds=BY_DOMAIN) == [lost, mute, beside]


def test_a_fit_of_another_judge_is_refused_by_both_names():
    with pytest.raises(UsageError, match="fitted for fixed, and the judge is embedded/"):
        Calibrated(EmbeddedJudge(), HALVED)


def test_a_judge_without_probabilities_is_refused():
    mute = Fixed()
    mute.gives_probability = False
    with pytest.raises(UsageError, match="gives no probabilities"):
        Calibrated(mute, HALVED)


def test_the_signature_tells_the_fits_apart():
    judge = EmbeddedJudge()
    made = [sign(Calibrated(judge, thresholds=Thresholds(judge="", overall=cut))).digest for cut in (0.3, 0.4)]
    assert len({*made, sign(judge).digest}) == 3


@pytest.mark.parametrize(
    "text", ["{", '{"judge": "x"}', '{"judge": "x", "overall": 2}', '{"judge": "x", "overall": 0.5, "more": 1}']
)
def test_files_that_are_no_thresholds_are_named(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"t\.json"):
        Thresholds.load(path)


def test_scored_with_thresholds_from_the_command_line(tmp_path, capsys):
    answers, cut = tmp_path / "answers.jsonl", tmp_path / "cut.json"
    row = {
        "id": "1",
        "text": "Mill 1 opened in 1801 in Leeds.",
        "reference": "Mill 1 opened in 1801.",
        "domain": "mills",
    }
    answers.write_text(json.dumps(row) + "\n")
    scores = {}
    for value in (0.0, 1.0):
        Thresholds(judge=EmbeddedJudge().name, overall=0.5, domains={"mills": value}).save(cut)
        out = tmp_path / f"run{value}"
        assert cli.run(["score", str(answers), "--thresholds", str(cut), "--out", str(out)]) == 0
        report = json.loads((out / "reports.jsonl").read_text().splitlines()[0])
        scores[value] = {judged["verdict"]["label"] for judged in report["facts"]}
        assert report["facts"][0]["verdict"]["raw_label"]
    assert scores[0.0] == {"supported"} and "supported" not in scores[1.0]
    assert cli.run(["score", str(answers), "--thresholds", str(cut), "--out", str(tmp_path / "run0.0")]) == 2
    assert "thresholds" in capsys.readouterr().err
    Thresholds(judge="another", overall=0.5).save(cut)
    assert cli.run(["score", str(answers), "--thresholds", str(cut), "--out", str(tmp_path / "x")]) == 2
    assert "fitted for another" in capsys.readouterr().err
