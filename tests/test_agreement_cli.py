"""`veridical agreement`: label files in every shape, what is printed and written, and what is refused."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data import shared
from veridical import cli
from veridical.errors import InputError
from veridical.inputs import read as generations
from veridical.inputs.annotations import Columns, read


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


CELLS = [("T", "T")] * 16 + [("F", "F")] * 15 + [("F", "T")] * 6 + [("T", "F")] * 5
"""FELM's labels against FacTool's: 42 responses by a matching of the two sets that leaves four of the 46 below out."""


def found(capsys, *arguments):
    assert cli.run(["agreement", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def values(result):
    return {one["name"]: one["value"] for one in result["coefficients"]}


def test_two_files_are_two_annotators_felm_and_factool(tmp_path, capsys):
    files = [tmp_path / "felm.jsonl", tmp_path / "factool.jsonl"]
    for place, file in enumerate(files):
        write(file, *({"id": n, "label": cell[place]} for n, cell in enumerate(CELLS)))
    result = found(capsys, *files)
    assert result["agreement"]["annotators"] == ["factool", "felm"]
    made = values(result["agreement"])
    assert made["raw"] == pytest.approx(31 / 42)
    assert made["cohen_kappa"] == pytest.approx(0.476, abs=5e-4)
    assert result["divided"] == 11 and result["ties"] == 11


def test_all_shapes_say_the_same(tmp_path, capsys):
    long, wide, nested, listed, facts = (
        tmp_path / name for name in ("a.jsonl", "b.csv", "c.jsonl", "d.jsonl", "e.jsonl")
    )
    labels = [("yes", "yes", "no"), ("no", "no", "no"), ("yes", "no", "no"), ("yes", "yes", "yes")]
    who = ("ann", "bob", "cy")
    write(
        long,
        *(
            {"item": n, "annotator": a, "label": x}
            for n, row in enumerate(labels)
            for a, x in zip(who, row, strict=True)
        ),
    )
    wide.write_text("id,ann,bob,cy\n" + "".join(f"{n},{','.join(row)}\n" for n, row in enumerate(labels)))
    write(nested, *({"id": n, "labels": dict(zip(who, row, strict=True))} for n, row in enumerate(labels)))
    write(listed, *({"id": n, "labels": list(row)} for n, row in enumerate(labels)))
    write(
        facts,
        {
            "id": "g",
            "text": "…",
            "facts": [{"text": "A.", "labels": dict(zip(who, row, strict=True))} for row in labels],
        },
    )
    first = found(capsys, long)["agreement"]
    assert values(first)["raw"] == pytest.approx(8 / 12)
    for file, *more in ((wide, "--column", "ann", "--column", "bob", "--column", "cy"), (nested,), (listed,), (facts,)):
        assert values(found(capsys, file, *more)["agreement"]) == values(first)


def test_the_majority_is_a_labelled_set_and_ties_are_left_out(tmp_path, capsys):
    file = tmp_path / "labels.jsonl"
    rows = [
        {"id": "1", "claim": "Ada was born in 1815.", "evidence": "Born 1815.", "labels": ["supported"] * 2},
        {"id": "2", "claim": "Ada was born in 1816.", "evidence": "Born 1815.", "labels": ["contradicted"] * 2},
        {"id": "3", "claim": "Ada was tall.", "evidence": "Born 1815.", "labels": ["supported", "contradicted"]},
    ]
    write(file, *rows)
    most, divided = tmp_path / "most.jsonl", tmp_path / "divided.jsonl"
    assert cli.run(["agreement", str(file), "--majority", str(most), "--disagreements", str(divided)]) == 0
    told = capsys.readouterr().out
    assert "1 items have different labels" in told and "1 ties left out" in told and "Ada was tall." in told
    assert [json.loads(line)["id"] for line in divided.read_text().splitlines()] == ["3"]
    assert cli.run(["meta", str(most), "--out", str(tmp_path / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sets"][0]["n"] == 2


def test_by_a_field_and_without_what_is_no_label(tmp_path, capsys):
    rows = [
        {"id": n, "domain": "math" if n % 2 else "science", "labels": ["yes", "yes" if n < 6 else "Skip", "no"]}
        for n in range(8)
    ]
    result = found(capsys, write(tmp_path / "x.jsonl", *rows), "--by", "domain", "--drop", "skip")
    assert result["groups"].keys() == {"math", "science"}
    assert result["agreement"]["labels"] == {"yes": 14, "no": 8}


def test_one_kind_of_label_is_undefined_and_said(tmp_path, capsys):
    file = write(tmp_path / "x.jsonl", *({"id": n, "labels": ["yes", "yes"]} for n in range(5)))
    assert cli.run(["agreement", file]) == 0
    assert "undefined: all labels are of one kind" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"label": "yes", "annotator": "a"}, "no item"),
        ({"id": 1, "annotator": "a"}, "'label': there is no label"),
        ({"id": 1, "label": "yes"}, "no annotator"),
        ({"id": 1, "labels": [["yes"]]}, "must be a label"),
        ({"id": 1, "text": "…", "facts": ["x"]}, "fact 0 is not an object"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path, capsys, row, named):
    file = write(tmp_path / "x.jsonl", {"id": 0, "labels": ["yes", "no"]}, row)
    assert cli.run(["agreement", file]) == 2
    told = capsys.readouterr().err
    assert "x.jsonl:2" in told and named in told


def test_two_files_of_one_name_are_refused(tmp_path, capsys):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "x.jsonl", {"id": 1, "label": "yes"})
    assert cli.run(["agreement", str(tmp_path / "a/x.jsonl"), str(tmp_path / "b/x.jsonl")]) == 2
    assert "two files of one name" in capsys.readouterr().err


def test_m1_felm_and_factool_in_their_files(tmp_path, capsys):
    """The responses of one text in both, whatever the question's spelling; wrong where a segment or claim is."""
    felm, factool = shared("felm/all.jsonl"), shared("factool/knowledge_qa.jsonl")

    def key(row):
        return " ".join(str(row["response"]).split()).casefold()

    first, second = ([json.loads(line) for line in file.open(encoding="utf-8")] for file in (felm, factool))
    first = {key(row): all(row["labels"]) for row in first if row["domain"] == "wk"}
    second = {key(row): row["label"] for row in second}
    common = sorted(first.keys() & second.keys())
    assert len(common) == 46
    files = [
        write(tmp_path / f"{name}.jsonl", *({"id": n, "label": found[one]} for n, one in enumerate(common)))
        for name, found in (("felm", first), ("factool", second))
    ]
    result = found(capsys, *files)
    made = values(result["agreement"])
    assert (made["raw"], result["divided"]) == (pytest.approx(35 / 46), 11)
    observed, chance = 35 / 46, (21 * 22 + 25 * 24) / 46**2  # of 16 both right, 19 both wrong, 6 and 5 apart
    assert made["cohen_kappa"] == pytest.approx((observed - chance) / (1 - chance))


def test_labels_are_counted_by_annotator_and_relabelled_ones_too(tmp_path, capsys):
    rows = [{"item": 1, "annotator": "ann", "label": "yes"}, {"item": 1, "annotator": "ann", "label": "no"},
            {"item": 1, "annotator": "bob", "label": "no"},
            {"item": 2, "annotator": "bob", "label": "yes", "kind": "x"},
            {"item": 2, "annotator": "bob", "label": "yes"}]  # fmt: skip
    file = write(tmp_path / "x.jsonl", *rows)
    result = found(capsys, file, "--by", "kind")
    assert result["agreement"]["given"] == {"ann": {"no": 1}, "bob": {"no": 1, "yes": 1}}
    assert (result["changed"], result["ungrouped"], result["agreement"]["doubly"]) == (1, 1, 1)
    assert cli.run(["agreement", file, "--by", "kind"]) == 0
    told = capsys.readouterr().out
    assert "bob: no 1, yes 1" in told and "1 labels were given anew" in told
    assert "1 items have no kind" in told and "1 of 2 items have one label only" in told


def test_columns_of_other_names_make_a_csv(tmp_path, capsys):
    file = tmp_path / "x.csv"
    file.write_text("frage,wer,urteil\n1,ann,ja\n1,bob,ja\n2,ann,ja\n2,bob,nein\n", encoding="utf-8")
    result = found(capsys, file, "--item", "frage", "--annotator", "wer", "--label", "urteil")
    assert values(result["agreement"])["raw"] == 0.5
    file.write_text("id,ann,bob\n1,ja,ja\n", encoding="utf-8")
    assert cli.run(["agreement", str(file)]) == 2
    assert "name them all with --column" in capsys.readouterr().err


def test_facts_come_back_as_labelled_generations(tmp_path, capsys):
    def answer(id_, *labels):
        facts = [{"text": f"{id_} is {n}.", "sentence": "It is.", "label": one} for n, one in enumerate(labels)]
        return {"id": id_, "text": "It is.", "prompt": "What?", "facts": facts}

    files = [
        write(tmp_path / "ann.jsonl", answer("p", "supported", "contradicted", ""), answer("q", "supported")),
        write(tmp_path / "bob.jsonl", answer("p", "supported", "supported", ""), answer("q", "supported")),
    ]
    most = tmp_path / "most.jsonl"
    result = found(capsys, *files, "--majority", most)
    assert (result["agreement"]["annotators"], result["agreement"]["items"], result["ties"]) == (["ann", "bob"], 3, 1)
    first, second = generations(str(most))
    assert [fact.label for fact in first.facts] == ["supported", None, None]  # a tie, and one nobody labelled
    assert (first.id, first.prompt, [fact.label for fact in second.facts]) == ("p", "What?", ["supported"])


def test_facts_of_one_number_in_two_generations_are_two_items(tmp_path):
    rows = [{"id": g, "text": "…", "facts": [{"id": "0", "text": "A.", "labels": ["yes", "no"]}]} for g in "pq"]
    marks = [one.mark.item for one in read([tmp_path / write(tmp_path / "x.jsonl", *rows)], Columns())]
    assert marks == ["p#0", "p#0", "q#0", "q#0"]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "label", "labels", "annotator", "facts", "text"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.lists(ANY, min_size=1, max_size=4))
def test_whatever_a_row_holds_it_is_labels_or_named(tmp_path, rows):
    file = tmp_path / "x.jsonl"
    write(file, *rows)
    try:
        labels = list(read([file], Columns()))
    except InputError as error:
        assert str(file) in str(error)
    else:
        assert all(one.mark.item and one.mark.label for one in labels)
