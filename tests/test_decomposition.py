"""Decomposers measured: the matching by hand, the published figures on real labels, and the command."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from loopback import chat, usage
from test_cli import Served
from veridical import cli
from veridical.decomposition import Told, labelled, measured, trivial
from veridical.decomposition.labelled import response
from veridical.decomposition.match import matched
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


def test_a_decomposer_s_figures_by_hand():
    labels = [one(("Ada Stow was born in 1815 in London.", ["Ada was born in 1815", "Ada was born in London"]))]
    made = measured("mine", labels, [Told(facts=(("Ada was born in 1815", "Ada lived in Paris"),))])
    assert [(m.precision, m.coverage, m.f1) for m in made.matched] == [(0.5, 0.5, 0.5)] * 2
    assert made.invented == 0.5  # "lived", "Paris"
    assert made.pronoun == 0.0
    assert made.facts_per_sentence == made.human_per_sentence == 2


def test_a_sentence_that_failed_is_in_no_figure_and_counted():
    labels = [one(("Ada sang.", ["Ada sang"]), ("Ada danced.", ["Ada danced"]))]
    made = measured("mine", labels, [Told(facts=(("Ada sang",), ()), failed=(1,))])
    assert (made.sentences, made.failed, made.counted) == (1, 1, 0)
    assert made.matched[0].f1 == 1.0


def test_published_baselines_on_factscore_s_labels():
    folder = shared("factscore_labeled")
    files = [folder / f"{system}.jsonl" for system in ("InstructGPT", "ChatGPT", "PerplexityAI")]
    responses = [one for file in files for one in labelled(file)]
    made = {name: measured(name, responses, told) for name, told in trivial(responses).items()}
    itself, model = made["the sentence itself"], made["the model's facts that annotators began with"]
    assert [round(v, 3) for v in itself.matched[0].systems.values()] == [0.238, 0.208, 0.250]
    assert [round(v, 3) for v in model.matched[0].systems.values()] == [0.864, 0.848, 0.837]
    assert [round(v, 3) for v in model.matched[1].systems.values()] == [0.811, 0.791, 0.772]
    assert round(model.pearson.value, 3) == 0.935 and round(model.spearman.value, 3) == 0.939


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
    assert "the sentence itself" in shown and "clauses-" in shown and "3 responses, 6 sentences" in shown
    assert cli.run(["decomposers", str(file), "--json", "--threshold", "0.6"]) == 0
    rows = {row["name"].partition("-")[0]: row for row in json.loads(capsys.readouterr().out)["decomposers"]}
    assert rows["clauses"]["matched"][0]["f1"] == 1.0
    assert rows["the sentence itself"]["matched"][0]["f1"] < 1.0
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


def test_another_decomposer_s_facts_from_a_file(file, tmp_path, capsys):
    theirs = tmp_path / "theirs.jsonl"
    rows = [{"sentence": "Ada Stow was born in 1815.", "facts": ["Ada Stow was born in 1815."]}]
    rows += [{"id": str(n), "sentence": "She wrote notes and sang.", "facts": ["She wrote notes."]} for n in range(3)]
    theirs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.run(["decomposers", str(file), "--predictions", str(theirs), "--json"]) == 1
    row = json.loads(capsys.readouterr().out)["decomposers"][-1]
    assert (row["name"], row["failed"], row["sentences"]) == ("theirs.jsonl", 2, 4)
    assert row["matched"][0]["precision"] == 1.0
    theirs.write_text('{"sentence": "Not there.", "facts": []}\n', encoding="utf-8")
    assert cli.run(["decomposers", str(file), "--predictions", str(theirs)]) == 2
    assert "theirs.jsonl:1: field 'sentence'" in capsys.readouterr().err


def test_a_file_without_people_s_facts_is_refused(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "1", "text": "Ada sang."}\n', encoding="utf-8")
    assert cli.run(["decomposers", str(path)]) == 2
    assert "no response with facts" in capsys.readouterr().err
