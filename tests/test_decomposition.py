"""Decomposers measured: the matching by hand, the published figures on real labels, and the command."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from loopback import chat, error, usage
from test_cli import Served
from veridical import cli
from veridical.decomposition import Told, baseline, labelled, measured, trivial
from veridical.decomposition.labelled import response
from veridical.decomposition.match import Match, content, matched, overlap
from veridical.decomposition.trivial import BEGUN_WITH
from veridical.decomposition.wording import duplicates, is_whole, without_subject
from veridical.errors import InputError
from veridical.types import Generation

WORDS = ["born", "1815", "London", "mathematician", "wrote", "notes", "engine"]
FACTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=6)


def one(*sentences, topic="Ada Stow", system="m", id="1"):
    return response(
        Generation(id=id, text="", topic=topic, system=system),
        [s for s, _ in sentences],
        [facts for _, facts in sentences],
    )


def test_pairs_are_made_from_the_best_down_and_without_the_topic_s_words():
    human = ["Ada Stow was born in 1815.", "Ada Stow was born in London."]
    assert matched(["Ada was born in London", "She was born in 1815"], human, "Ada Stow", 0.6) == [(0, 1), (1, 0)]
    assert matched(["Ada Stow"], human, "Ada Stow", 0.0) == [(0, 0)]
    assert matched(["Ada Stow"], human, "Ada Stow", 0.1) == []


@given(FACTS, FACTS, st.sampled_from([0.3, 0.6, 0.75, 1.0]))
def test_no_fact_is_in_two_pairs_and_a_stricter_threshold_pairs_no_more(ours, theirs, threshold):
    pairs = matched(ours, theirs, "Ada", threshold)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs) <= min(len(ours), len(theirs))
    assert pairs == matched(ours, theirs, "Ada", threshold / 2)[: len(pairs)]


@given(FACTS, FACTS)
def test_figures_are_bounded_and_the_two_sides_mirror_each_other(ours, theirs):
    there, back = (len(matched(a, b, "Ada", 0.6)) for a, b in ((ours, theirs), (theirs, ours)))
    assert 0 <= there <= min(len(ours), len(theirs)) and 0 <= back <= min(len(ours), len(theirs))
    for a in ours:
        for b in theirs:
            one, other = content(a, "Ada"), content(b, "Ada")
            assert 0.0 <= overlap(one, other) == overlap(other, one) <= 1.0
    told = [fact for fact in dict.fromkeys(ours) if content(fact, "Ada")]
    assert len(matched(told, told, "Ada", 1.0)) == len(told)
    match = Match(matched=there, predicted=len(ours), human=len(theirs))
    for value in (match.precision, match.coverage, match.f1):
        assert value is None or 0.0 <= value <= 1.0


def test_a_decomposer_s_figures_by_hand():
    labels = [one(("Ada Stow was born in 1815 in London.", ["Ada was born in 1815", "Ada was born in London"]))]
    made = measured("mine", labels, [Told(facts=(("Ada was born in 1815", "Ada lived in Paris"),))])
    assert [(m.precision.value, m.coverage.value, m.f1.value) for m in made.matched] == [(0.5, 0.5, 0.5)] * 2
    assert made.matched[0].f1.low is None, "one topic says nothing of the spread"
    assert made.invented == 0.5  # "lived", "Paris"
    assert made.pronoun == 0.0
    assert made.facts_per_sentence == made.human_per_sentence == 2


def test_a_sentence_that_failed_is_in_no_figure_and_counted():
    labels = [one(("Ada sang.", ["Ada sang"]), ("Ada danced.", ["Ada danced"]))]
    made = measured("mine", labels, [Told(facts=(("Ada sang",), ()), failed=(1,))])
    assert (made.sentences, made.failed, made.counts.pearson.n) == (1, 1, 0)
    assert made.matched[0].coverage.value == 1.0


def test_figures_are_pooled_and_of_each_system_with_intervals_over_topics():
    labels = [
        one((f"{topic} sang.", [f"{topic} sang"]), topic=topic, system=system, id=f"{system}{topic}")
        for topic in ("Ada", "Bea", "Cleo")
        for system in ("x", "y")
    ]
    told = [Told(facts=((f"{r.topic} {'sang' if r.generation.system == 'x' else 'slept'}",),)) for r in labels]
    (found, *_) = measured("mine", labels, told).matched
    assert found.f1.value == 0.5 and {name: own.f1.value for name, own in found.systems.items()} == {"x": 1.0, "y": 0.0}
    assert found.f1.low is None, "each topic has one right and one wrong: no spread over topics"
    told[0] = Told(facts=(("Ada slept",),))
    (found, *_) = measured("mine", labels, told).matched
    assert found.f1.low is not None and found.f1.low <= round(found.f1.value, 9) <= found.f1.high
    assert found.f1.value == pytest.approx(1 / 3)
    nothing = measured("none", labels, [Told(facts=((),)) for _ in labels]).matched[0]
    assert (nothing.precision.value, nothing.precision.low, nothing.coverage.value) == (None, None, 0.0)


def test_wording_by_hand():
    facts = ["Ada Stow wrote notes.", "She was born in London.", "born in 1815", "in London", "who sang"]
    assert without_subject(facts) == pytest.approx(3 / 5)
    assert without_subject([]) is None
    assert without_subject(["Она родилась в Лондоне."]) is None, "the parser reads English"
    assert duplicates(["Ada sang.", "ada  sang.", "Ada danced."]) == 1
    assert is_whole(["Ada sang"], "Ada sang.") and not is_whole(["Ada", "sang"], "Ada sang.")
    labels = [one(("Ada sang and sang.", ["Ada sang"]), ("Ada danced.", ["Ada danced"]))]
    made = measured("mine", labels, [Told(facts=(("Ada sang", "Ada sang"), ("Ada danced",)), repeats=1)])
    assert (made.duplicates, made.whole) == (2, 0.5)


def test_published_baselines_on_factscore_s_labels():
    folder = shared("factscore_labeled")
    files = [folder / f"{system}.jsonl" for system in ("InstructGPT", "ChatGPT", "PerplexityAI")]
    responses = [one for file in files for one in labelled(file)]
    told = trivial(responses)
    assert list(told) == ["the sentence itself", 'split at commas, "and", …', BEGUN_WITH]
    itself, model = (measured(name, responses, told[name]) for name in ("the sentence itself", BEGUN_WITH))
    assert [round(v.f1.value, 3) for v in itself.matched[0].systems.values()] == [0.238, 0.208, 0.250]
    assert [round(v.f1.value, 3) for v in model.matched[0].systems.values()] == [0.864, 0.848, 0.837]
    assert [round(v.f1.value, 3) for v in model.matched[1].systems.values()] == [0.811, 0.791, 0.772]
    assert [round(v.precision.value, 3) for v in itself.matched[0].systems.values()] == [0.624, 0.560, 0.649]
    assert [round(v.coverage.value, 3) for v in model.matched[0].systems.values()] == [0.884, 0.863, 0.857]
    counts = model.counts
    assert round(counts.pearson.value, 3) == 0.935 and round(counts.spearman.value, 3) == 0.939
    words = baseline(responses)["words"]
    assert round(words.pearson.value, 3) == 0.807 and round(words.spearman.value, 3) == 0.816


@pytest.fixture
def file(tmp_path):
    rows = [
        {
            "id": str(number), "topic": name, "text": f"{name} was born in 1815. She wrote notes and sang.",
            "facts": [
                {"text": f"{name} was born in 1815.", "sentence": f"{name} was born in 1815."},
                {"text": f"{name} wrote notes.", "sentence": "She wrote notes and sang."},
                {"text": f"{name} sang.", "sentence": "She wrote notes and sang."},
            ],
        }
        for number, name in enumerate(("Ada Stow", "Mary Dunn", "Ann Lee"))
    ]  # fmt: skip
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_embedded_decomposer_from_the_command_line(file, capsys):
    assert cli.run(["decomposers", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "the sentence itself" in shown and "number of words alone" in shown
    assert "clauses-" in shown and "3 responses, 6 sentences" in shown
    assert cli.run(["decomposers", str(file), "--json", "--threshold", "0.6"]) == 0
    rows = {row["name"].partition("-")[0]: row for row in json.loads(capsys.readouterr().out)["decomposers"]}
    assert rows["clauses"]["matched"][0]["f1"]["value"] == 1.0
    assert rows["the sentence itself"]["matched"][0]["f1"]["value"] < 1.0
    assert [m["threshold"] for m in rows["clauses"]["matched"]] == [0.6]


def test_a_model_s_facts_over_http_and_its_failures(file, tmp_path, capsys):
    def answer(request):
        asked = request.body.decode()
        return chat("I would rather not." if "Mary Dunn" in asked else "- It was born in 1815.", usage=usage(9, 4))

    with Served(answer) as server:
        status = cli.run(
            ["decomposers", str(file), "--decomposer", f"{server.url}#m", "--cache", str(tmp_path / "c"), "--json"]
        )
    assert status == 1
    shown = capsys.readouterr()
    row = json.loads(shown.out)["decomposers"][-1]
    assert row["failed"] >= 1 and row["sentences"] + row["failed"] == 6
    assert "could not be read and are in no figure" in shown.err


def test_a_broken_off_run_goes_on_and_pays_nothing_twice(file, tmp_path, capsys):
    out = tmp_path / "out"
    refused = True

    def answer(request):
        if refused and "Ann Lee" in request.body.decode():
            return error(401, "no such key")
        return chat("- Mary Dunn sang.", usage=usage(9, 4))

    with Served(answer) as server:
        command = ["decomposers", str(file), "--decomposer", f"{server.url}#m", "--out", str(out), "--json"]
        assert cli.run([*command, "--concurrency", "1"]) == 3
        assert "goes on where it stopped" in capsys.readouterr().err
        kept = sum(request.method == "POST" for request in server.requests)
        refused = False
        assert cli.run(command) == 0
        first = json.loads(capsys.readouterr().out)
        assert 0 < first["calls"] < 6 and kept >= 6 - first["calls"]
        assert cli.run(command) == 0
        again = json.loads(capsys.readouterr().out)
    assert again["calls"] == 0 and again["spent"] == 0.0
    row = again["decomposers"][-1]
    assert row["seconds"] is None, "the clock of a run from the cache says nothing of the model"
    assert row["matched"] == first["decomposers"][-1]["matched"]
    assert json.loads((out / "decomposers.json").read_bytes())["decomposers"][-1] == row
    (facts,) = out.glob("*.facts.jsonl")
    assert cli.run(["decomposers", str(file), "--predictions", str(facts), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decomposers"][-1]["matched"] == row["matched"]


@pytest.mark.parametrize("compat", ["factscore", "safe"])
def test_released_pipelines_split_without_the_text_before(file, compat, capsys, tmp_path):
    with Served(lambda request: chat("- Ada Stow sang.", usage=usage(9, 4))) as server:
        command = ["decomposers", str(file), "--decomposer", f"{server.url}#m", "--compat", compat, "--json"]
        cli.run([*command, "--cache", str(tmp_path / "c")])
    assert json.loads(capsys.readouterr().out)["decomposers"][-1]["name"].endswith(f"as {compat}")
    first = next(request for request in server.requests if request.method == "POST" and "Ann Lee" in request.prompt)
    assert "Topic:" not in first.prompt


def test_options_that_would_do_nothing_are_refused(file, capsys):
    for wrong in (["--compat", "factscore"], ["--compat", "felm"], ["--shape", "tree"]):
        assert cli.run(["decomposers", str(file), *wrong]) == 2
        assert wrong[0] in capsys.readouterr().err


def test_another_decomposer_s_facts_from_a_file(file, tmp_path, capsys):
    theirs = tmp_path / "theirs.jsonl"
    rows = [{"sentence": "Ada Stow was born in 1815.", "facts": ["Ada Stow was born in 1815."]}]
    rows += [{"id": str(n), "sentence": "She wrote notes and sang.", "facts": ["She wrote notes."]} for n in range(3)]
    theirs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["decomposers", str(file), "--predictions", str(theirs), "--json"]) == 1
    row = json.loads(capsys.readouterr().out)["decomposers"][-1]
    assert (row["name"], row["failed"], row["sentences"]) == ("theirs.jsonl", 2, 4)
    assert row["matched"][0]["precision"]["value"] == 1.0
    assert cli.run(["decomposers", str(file), "--predictions", str(theirs), "--sample", "2", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["responses"] == 2
    theirs.write_text('{"sentence": "Not there.", "facts": []}\n', encoding="utf-8")
    assert cli.run(["decomposers", str(file), "--predictions", str(theirs)]) == 2
    assert "theirs.jsonl:1: field 'sentence'" in capsys.readouterr().err


def test_a_file_without_people_s_facts_is_refused(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "1", "text": "Ada sang."}\n', encoding="utf-8")
    assert cli.run(["decomposers", str(path)]) == 2
    assert "no response with facts" in capsys.readouterr().err


def test_a_line_of_another_kind_within_annotations_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    row = {"topic": "Ada", "annotations": [{"text": "Ada sang.", "human-atomic-facts": [{"text": "Ada sang."}]}]}
    path.write_text(json.dumps(row) + '\n{"topic": "Bea"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.jsonl:2"):
        labelled(path)
