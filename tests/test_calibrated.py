"""A judge with a fitted calibration and thresholds by domain: what becomes of its verdicts, how it is scored with."""

import json
import math
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import chat
from masked_models import tiny
from test_cli import Served, items
from veridical import cli
from veridical.calibrated import Calibrated, Thresholds, recipe, suited, summarise
from veridical.calibration import Calibration
from veridical.cascade import Cascade
from veridical.ensemble import Ensemble, Member
from veridical.errors import InputError, ModelError, UsageError
from veridical.failures import failure
from veridical.gather import NoEvidence, Reference
from veridical.methods import method
from veridical.metrics import parse
from veridical.models.scripted import Scripted
from veridical.parts import Parts
from veridical.scores import score
from veridical.signature import sign
from veridical.types import AtomicFact, Evidence, Generation, JudgedFact, Label, Report, Verdict, Vote
from veridical.verifiers.embedded import EmbeddedJudge
from veridical.verify import RetrieveVerifier

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


def test_other_settings_of_the_judge_are_refused_and_named_but_not_where_its_evidence_comes_from():
    judge = RetrieveVerifier(model=Scripted("True"), mode="logprobs")
    fields = sign(method("factscore", Parts(judge=Scripted("True"), reading="logprobs"))).fields
    fit = msgspec.structs.replace(HALVED, judge=judge.name, recipe=recipe(fields))
    assert fit.recipe["mode"] == "logprobs"
    assert Calibrated(judge, fit).calibration == fit
    assert msgspec.json.decode(msgspec.json.encode(fit), type=Calibration) == fit
    with pytest.raises(
        UsageError, match=r"retrieve\(scripted\) with other settings .* mode: 'logprobs' then, 'logits' now"
    ):
        Calibrated(replace(judge, mode="logits"), fit)
    with pytest.raises(UsageError, match="order: 'best_last' then, 'best_first' now"):
        suited(replace(judge, order="best_first"), fit)
    there, here = (Ensemble((Member(judge, one), EmbeddedJudge()), "mean") for one in (NoEvidence(), Reference(k=9)))
    assert recipe(sign(Calibrated(there)).fields) == recipe(sign(Calibrated(here)).fields)


def test_an_ensemble_s_votes_stay_beside_its_own_probability():
    votes = (Vote(judge="a", probability=0.4), Vote(judge="b", probability=0.8))
    verdict = msgspec.structs.replace(said(0.6), votes=votes)
    found = Calibrated(Fixed(), HALVED)._mapped(verdict, None)
    assert (found.votes, found.raw, found.label) == (votes, 0.6, Label.NOT_ENOUGH_EVIDENCE)


def test_a_cascade_s_calibration_is_that_of_its_cheap_judge_and_of_no_other():
    parts = Parts(judge=Scripted("True"), calibration=msgspec.structs.replace(HALVED, judge="embedded/features-1"))
    made = method("cascade", parts).verifier
    assert isinstance(made, Cascade) and made.calibration == parts.calibration
    with pytest.raises(UsageError, match="fitted for fixed, and the judge is embedded/features-1"):
        method("cascade", replace(parts, calibration=HALVED))
    with pytest.raises(UsageError, match="thresholds are for one judge"):
        method("cascade", replace(parts, thresholds=BY_DOMAIN))


@pytest.mark.parametrize(
    "name, parts",
    [
        ("factscore", Parts(judge=Scripted("True"), calibration=HALVED)),
        ("safe", Parts(judge=Scripted("True"), thresholds=BY_DOMAIN, searcher=Scripted("True"))),
        ("qa", Parts(judge=Scripted("True"), calibration=HALVED)),
        ("embedded+factscore", Parts(judge=Scripted("True"), calibration=HALVED)),
    ],
)
def test_methods_whose_judge_answers_in_text_are_refused(name, parts):
    with pytest.raises(UsageError, match="gives no probabilities to calibrate"):
        method(name, parts)


def test_verdicts_written_before_there_was_a_calibration_are_read():
    old = b'{"label":"supported","judge":"m","probability":0.7,"mode":"logprobs"}'
    verdict = msgspec.json.decode(old, type=Verdict)
    assert (verdict.raw, verdict.raw_label) == (None, None)
    assert msgspec.json.encode(verdict) == old


def told(*verdicts, id="g", **metadata):
    facts = tuple(
        JudgedFact(fact=AtomicFact(id=f"{id}/0.{n}", text="A.", sentence=0), verdict=one)
        if isinstance(one, Verdict)
        else JudgedFact(fact=AtomicFact(id=f"{id}/0.{n}", text="A.", sentence=0), failure=one)
        for n, one in enumerate(verdicts)
    )
    return Report(generation=Generation(id=id, text="A.", metadata=metadata), facts=facts)


async def test_what_was_done_is_counted_by_hand():
    judge = Calibrated(Fixed(), HALVED, BY_DOMAIN)
    mute = said(None, Label.NOT_ENOUGH_EVIDENCE, "no evidence")
    reports = []
    for id, domain in (("a", "math"), ("b", "law"), ("c", None)):
        metadata = {} if domain is None else {"domain": domain}
        outcomes = await judged(
            said(0.6), said(0.1, Label.CONTRADICTED), mute, said(0.9, Label.IRRELEVANT),
            domain=domain, calibration=HALVED, thresholds=BY_DOMAIN,
        )  # fmt: skip
        reports.append(told(*outcomes, id=id, **metadata))
    found = summarise(reports, judge)
    assert (found.verdicts, found.without_probability, found.turned) == (9, 3, 1)  # .6 is below math's .9
    assert (found.generations, found.overall, found.without_domain, found.unknown) == (3, 2, 1, ("law",))
    counted, fallen = found.lines()
    assert "3 of 9 verdicts had no probability" in counted
    assert "2 of 3 generations: 1 without a domain; no threshold for law" in fallen
    assert len(summarise(reports, replace(judge, thresholds=None)).lines()) == 1


def test_the_calibrated_mean_by_hand():
    def fact(probability, label=Label.SUPPORTED, **more):
        return msgspec.structs.replace(said(probability, label), **more)

    metric = parse("calibrated_mean")
    nothing = said(None, Label.NOT_ENOUGH_EVIDENCE, "no evidence")
    lost, beside = failure("verify", ModelError("gone")), said(0.9, Label.IRRELEVANT)
    whole = told(fact(0.8, raw=0.9), fact(0.4, Label.CONTRADICTED, raw=0.6), nothing, beside)
    assert math.isclose(metric.of(whole), 0.4)  # (.8 + .4 + 0) / 3
    assert metric.bounds(whole) == pytest.approx((0.4, 0.4))
    partly = told(fact(0.8, raw=0.9), lost, said(None, mode="votes"))
    assert metric.of(partly) == 0.8
    assert metric.bounds(partly) == pytest.approx((0.8 / 3, 2.8 / 3))
    assert metric.of(told(beside)) is metric.bounds(told(beside)) is None
    found = score([whole, told(fact(0.6, raw=0.5), id="h")], metric)
    assert math.isclose(found.value, 0.5) and found.low is not None and "calibrated probability" in found.rule
    copied = msgspec.structs.replace(whole.facts[0], fact=msgspec.structs.replace(whole.facts[0].fact, repeats=1))
    twice = msgspec.structs.replace(whole, facts=(copied, *whole.facts[1:]))
    assert math.isclose(parse("calibrated_mean(repeats)").of(twice), 0.5)  # (2 * .8 + .4) / 4
    for other in (said(0.7), said(None, mode="text")):
        with pytest.raises(UsageError, match="needs a run with --calibration"):
            metric.of(told(fact(0.8, raw=0.9), other))


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


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(["judge", "recipe", "overall", "domains", "kind"])


@given(st.binary(max_size=20) | st.dictionaries(fields, values).map(lambda row: json.dumps(row).encode()))
def test_whatever_the_file_holds_it_is_thresholds_or_an_input_error(tmp_path_factory, raw):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(raw)
    try:
        found = Thresholds.load(path)
    except InputError as error:
        assert "any.json" in str(error)
    else:
        assert all(0 <= value <= 1 for value in (found.overall, *found.domains.values()))
        found.save(path)
        assert Thresholds.load(path) == found


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


def labelled(path, count=40):
    """Claims of which a word-counting judge is often wrong: the year differs, or the words do."""
    rows = [
        {"claim": f"Mill {n} opened in {1800 + n} in Leeds.", "label": "supported" if n % 3 else "not_supported",
         "evidence": f"Mill {n} opened in {1800 + n if n % 4 else 1900}.", "domain": "odd" if n % 2 else "even"}
        for n in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def verdicts(out):
    lines = (out / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    return [fact["verdict"] for line in lines for fact in json.loads(line)["facts"]]


def test_fitted_and_scored_with_from_the_command_line(tmp_path, capsys):
    claims, fit = labelled(tmp_path / "mine.jsonl"), tmp_path / "fit.json"
    assert cli.run(["meta", str(claims), "--part", "first", "--fit-calibration", str(fit)]) == 0
    made, cuts = Calibration.load(fit), Thresholds.load(tmp_path / "fit.thresholds.json")
    assert made.recipe == cuts.recipe != {} and made.judge == cuts.judge
    answers, out = items(tmp_path / "answers.jsonl", 4), tmp_path / "run"
    both = ["--calibration", str(fit), "--thresholds", str(tmp_path / "fit.thresholds.json")]
    capsys.readouterr()
    assert cli.run(["score", str(answers), "--out", str(out), *both, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calibrated"]["overall"] == found["calibrated"]["without_domain"] == 4
    seen = verdicts(out)
    for one in seen:
        assert one["probability"] == made(one["raw"])
        assert (one["label"] == "supported") == (one["raw"] >= cuts.overall)
    by_name = {one["name"]: one for one in found["scores"]}
    size = len(seen) // 4  # the answers are alike
    per_answer = [[one["probability"] for one in seen[n : n + size]] for n in range(0, len(seen), size)]
    wanted = sum(sum(own) / len(own) for own in per_answer) / 4
    assert math.isclose(by_name["calibrated_mean"]["value"], wanted)
    assert cli.run(["score", str(answers), "--out", str(out), *both]) == 0
    printed = capsys.readouterr().out
    assert f"0 of {len(seen)} verdicts had no probability" in printed
    assert "overall threshold for 4 of 4 generations: 4 without a domain" in printed
    assert f"|calibration:isotonic@{made.fingerprint}" in printed.replace("verifier.", "")
    assert f"thresholds:Thresholds@{cuts.fingerprint}" in printed
    assert cli.run(["score", str(answers), "--out", str(out)]) == 2  # a run folder is not mixed
    assert "calibration" in capsys.readouterr().err
    assert cli.run(["metrics", str(out), "--metric", "calibrated_mean"]) == 0
    assert cli.run(["estimate", str(answers), *both]) == 0
    assert cli.run(["score", str(answers), "--out", str(tmp_path / "y"), "--domain-field", "topic"]) == 2
    assert "--domain-field is for --thresholds" in capsys.readouterr().err
    assert cli.run(["score", str(answers), "--out", str(tmp_path / "y"), "--method", "embedded+np", *both]) == 2
    assert "or for --combine mean" in capsys.readouterr().err


def test_an_ensemble_by_its_mean_is_calibrated_and_its_judges_alone_are_others(tmp_path, capsys):
    claims, fit, out = labelled(tmp_path / "mine.jsonl", 12), tmp_path / "fit.json", tmp_path / "run"
    model = ["--np-model", f"hf/{tiny('roberta', tmp_path / 'model')}"]
    mean = ["--method", "embedded+np", "--combine", "mean", *model]
    assert cli.run(["meta", str(claims), *mean, "--fit-calibration", str(fit)]) == 0
    answers = ["score", str(items(tmp_path / "answers.jsonl", 1)), "--calibration", str(fit)]
    assert cli.run([*answers, *mean, "--out", str(out)]) == 0
    made = Calibration.load(fit)
    assert all(len(one["votes"]) == 2 and one["probability"] == made(one["raw"]) for one in verdicts(out))
    assert cli.run(["estimate", *answers[1:], *mean]) == 0
    capsys.readouterr()
    assert cli.run([*answers, "--method", "np", *model, "--out", str(tmp_path / "x")]) == 2
    told = capsys.readouterr().err
    assert "fitted for mean(embedded/features-1, np(" in told and "the judge is np(" in told


def test_a_model_s_log_probabilities_are_calibrated_and_another_reading_is_refused(tmp_path, capsys):
    top = [{"token": "True", "logprob": math.log(0.9)}, {"token": "False", "logprob": math.log(0.1)}]

    def handler(request):
        return chat("True", logprobs={"content": [{**top[0], "top_logprobs": top}]})

    claims, fit, out = labelled(tmp_path / "mine.jsonl", 12), tmp_path / "fit.json", tmp_path / "run"
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"id": "1", "text": "A.", "reference": "B.", "facts": ["C."]}) + "\n")
    with Served(handler) as server:
        judge = ["--judge", f"{server.url}#m"]
        assert cli.run(["meta", str(claims), *judge, "--fit-calibration", str(fit)]) == 0
        asked = ["score", str(answers), *judge, "--facts", "given", "--calibration", str(fit)]
        assert cli.run([*asked, "--out", str(out)]) == 0
        [verdict] = verdicts(out)
        assert (verdict["mode"], round(verdict["raw"], 6)) == ("logprobs", 0.9)
        assert verdict["probability"] == pytest.approx(8 / 12)  # as many of the claims are supported
        capsys.readouterr()
        assert cli.run(["estimate", str(answers), *judge, "--facts", "given", "--calibration", str(fit), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["calls"] == 1
        assert cli.run([*asked, "--out", str(tmp_path / "x"), "--order", "best_first"]) == 2
        assert "order: 'best_last' then, 'best_first' now" in capsys.readouterr().err
        assert cli.run([*asked, "--out", str(tmp_path / "x"), "--read", "text"]) == 2
        assert "gives no probabilities" in capsys.readouterr().err
    assert not (tmp_path / "x").exists() or not (tmp_path / "x" / "reports.jsonl").exists()


def test_a_fit_of_predictions_serves_no_judge(tmp_path, capsys):
    claims, fit, theirs = labelled(tmp_path / "mine.jsonl", 12), tmp_path / "fit.json", tmp_path / "theirs.jsonl"
    assert cli.run(["meta", str(claims), "--pairs", str(tmp_path / "p.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    theirs.write_text("".join(json.dumps({"id": r["id"], "label": True, "probability": 0.8}) + "\n" for r in rows))
    assert cli.run(["meta", str(claims), "--predictions", str(theirs), "--fit-calibration", str(fit)]) == 0
    asked = ["score", str(items(tmp_path / "a.jsonl", 1)), "--out", str(tmp_path / "x"), "--calibration", str(fit)]
    assert cli.run(asked) == 2
    assert "fitted for predictions in theirs.jsonl, and the judge is embedded/" in capsys.readouterr().err
