"""`veridical agreement`: label files in every shape, what is printed and written, and what is refused."""

import json

import pytest

from veridical import cli


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


CELLS = [("T", "T")] * 16 + [("F", "F")] * 15 + [("F", "T")] * 6 + [("T", "F")] * 5
"""FELM's labels against FacTool's of 42 responses that both labelled."""


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
