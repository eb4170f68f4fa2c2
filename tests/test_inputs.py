"""Generations from files: our own fields, in every packing, and what is unusable named by its place."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import InputError, UsageError, VeridicalError
from veridical.inputs import read, sample
from veridical.types import Generation, GivenFact

ROW = {"id": "a", "text": "Łódź is a city. 🎈", "prompt": "What is Łódź?", "topic": "Łódź", "system": "m", "year": 3}


@pytest.fixture
def put(tmp_path):
    def put(content, name="in.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return str(path)

    return put


def lines(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def only(path, **more):
    (found,) = read(path, **more)
    return found


def refused(path, **more):
    with pytest.raises(InputError) as caught:
        list(read(path, **more))
    return caught.value


# --- our own fields --------------------------------------------------------------------------------------------------


def test_fields_by_their_names_and_the_rest_as_metadata(put):
    inputs = read(put(lines(ROW)))
    (found,) = inputs
    assert found == Generation(
        id="a", text=ROW["text"], prompt=ROW["prompt"], topic="Łódź", system="m", metadata={"year": 3}
    )
    assert inputs.fields == {name: name for name in ("text", "prompt", "id", "topic", "system")}
    assert (inputs.format, inputs.kept, inputs.skipped) == ("generations", ["year"], [])


def test_other_names_for_the_same(put):
    inputs = read(put(lines({"output": "t", "question": "q", "model": "m"}, {"response": "t", "input": "q", "id": 7})))
    first, second = inputs
    assert (first.text, first.prompt, first.system, first.id) == ("t", "q", "m", "000001")
    assert (second.text, second.prompt, second.id) == ("t", "q", "7")
    assert inputs.fields == {"text": "output", "prompt": "question", "system": "model", "id": "id"}


def test_the_first_of_two_names_is_taken_and_the_other_kept(put):
    found = only(put(lines({"response": "r", "text": "t", "input": "i", "prompt": "p"})))
    assert (found.text, found.prompt, found.metadata) == ("t", "p", {"response": "r", "input": "i"})


def test_facts_are_strings_or_objects(put):
    facts = ["One.", {"text": "Two.", "label": "supported", "sentence": "S."}]
    assert only(put(lines({"text": "t", "facts": facts}))).facts == (
        GivenFact(text="One."),
        GivenFact(text="Two.", label="supported", sentence="S."),
    )
    assert only(put(lines({"text": "t", "facts": []}))).facts == ()
    assert only(put(lines({"text": "t", "facts": None}))).facts is None


def test_samples_are_strings_in_a_list_or_in_a_cell(put):
    path = put(lines({"text": "t", "samples": ["One.", ""]}, {"text": "t", "samples": None}, {"text": "t"}))
    assert [g.samples for g in read(path)] == [("One.", ""), (), ()]
    cells = put('text,samples\nt,"[""One."", ""Two.""]"\nt,\n', "in.csv")
    assert [g.samples for g in read(cells)] == [("One.", "Two."), ()]
    inputs = read(path)
    assert "samples" in (list(inputs) and inputs.fields) and inputs.kept == []


def test_a_generation_of_ours_comes_back_as_it_was(put):
    made = Generation(
        id="x", text="t", prompt="p", topic="o", system="s", reference="r", samples=("o", "p"),
        facts=(GivenFact(text="f"),), abstained=True, metadata={"a": [1, {"b": None}]},
    )  # fmt: skip
    assert only(put(msgspec.json.encode(made))) == made


def test_blank_answers_are_answers_and_blank_topics_are_none(put):
    found = only(put(lines({"text": "", "topic": " ", "reference": None, "prompt": None})))
    assert (found.text, found.topic, found.reference, found.prompt) == ("", None, None, "")


def test_default_ids_are_places_in_the_file_so_that_skipping_moves_none(put):
    path = put('{"text": "a"}\n\n{"text": null}\n{"text": "c"}\n')
    assert [g.id for g in read(path, on_error="skip")] == ["000001", "000003"]


# --- what is unusable ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, field, words",
    [
        ('{"prompt": "p"}', "text", "none of text, output, response"),
        ('{"output": null}', "output", "null, not a string"),
        ('{"text": ["a"]}', "text", "a list, not a string"),
        ('{"text": NaN}', "text", "NaN, not a string"),
        ('{"text": "t", "input": [{"role": "user"}]}', "input", "a list, not a string"),
        ('{"text": "t", "topic": 3}', "topic", "a number, not a string"),
        ('{"text": "t", "id": true}', "id", "neither a string nor a whole number"),
        ('{"text": "t", "id": 1.5}', "id", "neither a string nor a whole number"),
        ('{"text": "t", "facts": "One."}', "facts", "must be a JSON list"),
        ('{"text": "t", "facts": {"text": "x"}}', "facts", "must be a list"),
        ('{"text": "t", "facts": [1]}', "facts", "fact 0"),
        ('{"text": "t", "facts": [{"text": "x", "label": "S"}]}', "facts", "label 'S'"),
        ('{"text": "t", "samples": "One."}', "samples", "must be a JSON list"),
        ('{"text": "t", "samples": "' + "[" * 100_000 + '"}', "samples", "must be a JSON list"),
        ('{"text": "t", "samples": 5}', "samples", "must be a list"),
        ('{"text": "t", "samples": ["One.", {"text": "Two."}]}', "samples", "item 1 is not a string"),
        ('{"text": "t", "samples": [null]}', "samples", "item 0 is not a string"),
        ('{"text": "t", "abstained": "perhaps"}', "abstained", "neither true nor false"),
        ('["text"]', None, "not a JSON object"),
        ('"text"', None, "not a JSON object"),
        ("{text: 1}", None, "not JSON"),
        ('{"text": "\\ud800"}', None, "cannot be kept as JSON"),
        ('{"text": "t", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", None, "not JSON"),
    ],
)
def test_unusable_records_name_file_line_and_field(put, line, field, words):
    path = put(lines(ROW) + line + "\n" + lines({"text": "last"}))
    error = refused(path)
    assert (error.file, error.line, error.field) == (path, 2, field)
    assert words in str(error) and "in.jsonl:2" in str(error)
    inputs = read(path, on_error="skip")
    assert [g.text for g in inputs] == [ROW["text"], "last"]
    assert [str(skipped) for skipped in inputs.skipped] == [str(error)]


def test_bad_utf8_names_its_line(put):
    path = put(lines(ROW).encode() + b'{"text": "caf\xe9"}\n' + b'{"text": "ok"}\n')
    assert "in.jsonl:2: not UTF-8 (byte 14" in str(refused(path))
    assert len(list(read(path, on_error="skip"))) == 2


def test_a_cut_off_last_line_is_named(put):
    path = put(lines(ROW) + '{"text": "Brandt sold the mi')
    assert "in.jsonl:2" in str(refused(path)) and "the last line is cut off" in str(refused(path))
    assert len(list(read(path, on_error="skip"))) == 1


def test_taken_ids_name_both_lines(put):
    path = put(lines({"id": "x", "text": "a"}, {"text": "b"}, {"id": "x", "text": "c"}, {"id": "000002", "text": "d"}))
    assert "id 'x' is taken: lines 1 and 3" in str(refused(path))
    inputs = read(path, on_error="skip")
    assert [g.text for g in inputs] == ["a", "b"]
    assert "lines 2 and 4" in str(inputs.skipped[1])


def test_files_that_cannot_be_read(put, tmp_path):
    assert "No such file" in str(refused(str(tmp_path / "none.jsonl")))
    assert "directory" in str(refused(str(tmp_path)))
    assert "UTF-16" in str(refused(put('{"text": "a"}\n'.encode("utf-16"))))
    assert "gzip" in str(refused(put(gzip.compress(lines(ROW).encode() * 50)[:-9], "in.jsonl.gz"), on_error="skip"))
    assert list(read(put(""))) == list(read(put("\n \n"))) == []


def test_settings_that_do_not_exist(put):
    for wrong in ({"on_error": "ignore"}, {"facts": "all"}):
        with pytest.raises(UsageError):
            read(put(lines(ROW)), **wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *("text", "output", "response", "prompt", "id", "topic", "system", "reference", "facts", "abstained", "metadata"),
    *(
        "annotations",
        "cat",
        "x_Labels",
        "per_prompt_data",
        "prompt_source",
        "all_claims",
        "segmented_response",
        "labels",
    ),
    *("gpt3_text", "wiki_bio_text", "question", "eval", "samples", "_model", "index", "ref_contents", "error"),
]
inner_keys = st.sampled_from(
    ["text", "label", "model-atomic-facts", "human-atomic-facts", "is-relevant", "side1_response", "message", "choices",
     "side1_posthoc_eval_data", "checked_statements", "content", "output", "id", "epoch"]
)  # fmt: skip
odd = json_values | st.lists(st.dictionaries(inner_keys, json_values, max_size=4), max_size=2)
rows = st.dictionaries(st.sampled_from(KEYS), odd | st.dictionaries(inner_keys, odd, max_size=3), max_size=9)


@given(st.lists(rows, max_size=3))
@settings(deadline=None, max_examples=150)
def test_any_json_is_read_or_named_and_can_be_written(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("any") / "in.jsonl"
    path.write_text(lines(*found), encoding="utf-8")
    inputs = read(str(path), on_error="skip")
    for generation in inputs:
        assert msgspec.json.decode(msgspec.json.encode(generation), type=Generation).id == generation.id
    assert all(error.line for error in inputs.skipped)


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\n\\a1 \ufeff', max_size=40).map(str.encode))
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "in"
    path.write_bytes(content)
    try:
        list(read(str(path), on_error="skip"))
    except VeridicalError as error:
        assert str(path) in str(error)


# --- packings --------------------------------------------------------------------------------------------------------

ROWS = [{"id": str(n), "text": f'Text {n} of Łódź 🎈\nsecond line, with “quotes"', "note": "é" * n} for n in range(40)]


def as_csv(delimiter=","):
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, ["id", "text", "note"], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return file.getvalue().encode()


def as_parquet():
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(ROWS), file)
    return file.getvalue()


PACKINGS = {
    "jsonl": lambda: lines(*ROWS).encode(),
    "jsonl without last newline": lambda: lines(*ROWS).encode().rstrip(),
    "jsonl with windows lines": lambda: lines(*ROWS).encode().replace(b"\n", b"\r\n"),
    "json": lambda: json.dumps(ROWS).encode(),
    "indented json": lambda: json.dumps(ROWS, indent=2, ensure_ascii=False).encode(),
    "bom": lambda: b"\xef\xbb\xbf" + lines(*ROWS).encode(),
    "json bom": lambda: b"\xef\xbb\xbf" + json.dumps(ROWS).encode(),
    "csv": as_csv,
    "csv bom": lambda: b"\xef\xbb\xbf" + as_csv(),
    "tsv": lambda: as_csv("\t"),
    "semicolons": lambda: as_csv(";"),
    "parquet": as_parquet,
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("kind", PACKINGS)
def test_every_packing_gives_the_same_whatever_its_name(put, kind, packed):
    content = PACKINGS[kind]()
    inputs = read(put(gzip.compress(content) if packed else content, "data"))
    wanted = [Generation(id=row["id"], text=row["text"], metadata={"note": row["note"]}) for row in ROWS]
    assert list(inputs) == wanted
    assert list(inputs) == wanted  # and once more from the start


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "json"])
def test_stdin(kind):
    script = "from veridical.inputs import read\nprint(len([g.text for g in read('-')]))"
    for packed in (False, True):
        content = gzip.compress(PACKINGS[kind]()) if packed else PACKINGS[kind]()
        done = subprocess.run([sys.executable, "-c", script], input=content, capture_output=True)
        assert done.stdout.strip() == b"40", done.stderr


def test_x2_utf8_whatever_the_locale(put):
    path = put(lines(ROW))
    script = f"from veridical.inputs import read\n[g] = read({path!r})\nprint(ascii(g.text))"
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == ascii(ROW["text"]), done.stderr


def test_f49_the_input_is_never_modified(put):
    for kind in ("jsonl", "json", "csv", "parquet"):
        content = PACKINGS[kind]()
        path = put(content, "data.json")
        list(read(path))
        assert Path(path).read_bytes() == content


def test_json_arrays_are_read_element_by_element_across_chunks(put, monkeypatch):
    monkeypatch.setattr("veridical.inputs.files._CHUNK", 7)
    for indent in (None, 1):
        path = put(json.dumps(ROWS, indent=indent, ensure_ascii=False), "in.json")
        assert [g.text for g in read(path)] == [row["text"] for row in ROWS]


def test_elements_of_an_array_are_named_by_line(put):
    error = refused(put('[\n{"text": "a"},\n\n{"text": null}\n]'))
    assert (error.line, error.field) == (4, "text")


@pytest.mark.parametrize(
    "content, words",
    [
        ('[{"text": "a"}', "cut off"),
        ('[{"text": "a"},', "cut off"),
        ('[{"text": "a"} {"text": "b"}]', "comma"),
        ('[{"text": "a"}, {"text": ]', "broken JSON array"),
    ],
)
def test_broken_arrays_stop_even_when_skipping(put, content, words):
    assert words in str(refused(put(content), on_error="skip"))


def test_csv_rows_are_named_by_their_first_line(put):
    path = put('id,text\n1,"two\nlines"\n2,b,c\n3\n4,\xe9\n'.encode("latin-1") + b"5,e\n", "in.csv")
    inputs = read(path, on_error="skip")
    assert [g.text for g in inputs] == ["two\nlines", "e"]
    assert [(error.line, error.field) for error in inputs.skipped] == [(4, None), (5, "text"), (6, None)]


def test_csv_cells_that_hold_json(put):
    found = only(put('text,facts,abstained,topic\nt,"[""One."", {""text"": ""Two.""}]",TRUE,\n'))
    assert (len(found.facts), found.abstained, found.topic) == (2, True, None)
    assert only(put("text,facts,abstained\nt,,\n")).facts is None


def test_broken_csv(put):
    assert "two columns" in str(refused(put("text,a,a\n1,2,3\n")))
    assert "broken CSV" in str(refused(put('text\n"open\n'), on_error="skip"))
    assert len(only(put("text\n" + "x" * 300_000 + "\n")).text) == 300_000


def test_parquet_lists_and_damage(put):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    table = arrow.Table.from_pylist([{"text": "t", "facts": ["One.", "Two."]}, {"text": None, "facts": None}])
    parquet.write_table(table, file)
    inputs = read(put(file.getvalue()), on_error="skip")
    assert [len(g.facts) for g in inputs] == [2]
    assert inputs.skipped[0].line == 2
    assert "damaged Parquet" in str(refused(put(file.getvalue()[:60])))


# --- samples ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(1, 30), st.integers(0, 5))
def test_samples_keep_the_order_and_repeat(size, n, seed):
    found = sample(range(size), n, seed)
    assert found == sorted(set(found)) == sample(iter(range(size)), n, seed)
    assert len(found) == min(size, n)


def test_samples_are_fair():
    counts = [0] * 10
    for seed in range(2000):
        for item in sample(range(10), 3, seed):
            counts[item] += 1
    assert all(520 < count < 680 for count in counts)
    with pytest.raises(UsageError):
        sample([1], 0)
