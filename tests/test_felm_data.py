"""The loader: repairs are listed, errors name file, line and field, and the published file has its known counts."""

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data import shared
from felm_rows import row, small, written
from veridical.errors import InputError, UsageError
from veridical.felm.data import is_enumerator, load, stratified
from veridical.felm.records import Gold


def repairs(loaded):
    return {one.what.partition(":")[0]: len(one.ids) for one in loaded.repairs}


def test_fields_are_normalised_and_repairs_listed(tmp_path):
    loaded = load(written(tmp_path / "felm.jsonl", small()))
    by_id = {one.id: one for one in loaded.samples}
    assert list(by_id) == [0, 1, 2, 3, 4, 5]
    assert by_id[3].units[1].error_type == "reasoning_error"  # the file gives none for mathematics
    assert by_id[4].refs == ()
    assert by_id[5].units[0].error_type == "fooled"
    assert by_id[5].urls == ("https://example.org/c",)
    assert repairs(loaded) == {
        "no error type (math)": 1,
        "address of a reference ended in punctuation": 1,
        "addresses of references without any text": 1,
    }
    assert by_id[0].has_evidence and not by_id[5].has_evidence
    assert by_id[0].response[slice(*by_id[0].units[1].span)] == "It burnt down in 1920."


def test_nan_responses_are_put_together_and_a_json_array_is_taken(tmp_path):
    path = tmp_path / "felm.json"
    path.write_text("[" + json.dumps(row(0, response=float("nan"))) + "]", encoding="utf-8")
    loaded = load(path)
    assert loaded.samples[0].response == "Segment 0 of 0 is here. Segment 1 of 0 is here."
    assert "response missing (NaN or null)" in repairs(loaded)


def test_texts_that_do_not_pair_with_addresses_are_not_guessed(tmp_path):
    urls = ["https://example.org/a", "https://example.org/b"]
    (one,) = load(written(tmp_path / "f.jsonl", [row(0, ref=urls, ref_contents=["Only one text."])])).samples
    assert [(ref.url, ref.text) for ref in one.refs] == [(None, "Only one text."), *((url, None) for url in urls)]


def test_enumerators_and_blank_segments_can_be_left_out_and_keep_places(tmp_path):
    path = written(tmp_path / "f.jsonl", [row(0, labels=(True, True, False), segments=["1.", " ", "It is."])])
    loaded = load(path, drop_enumerators=True)
    assert [unit.index for unit in loaded.samples[0].units] == [2]
    assert repairs(loaded) == {"segment is a bare enumerator": 1, "segment is blank": 1}
    assert len(load(path).samples[0].units) == 3


def test_require_evidence(tmp_path):
    loaded = load(written(tmp_path / "f.jsonl", small()), require_evidence=True)
    assert [one.id for one in loaded.samples] == [0, 2]


def test_m1_missing_fields_are_tolerated_and_unlabelled_is_unknown(tmp_path):
    bare = {"domain": "wk", "prompt": "Q?", "response": "A.", "segmented_response": ["A."]}
    loaded = load(written(tmp_path / "f.jsonl", [bare]))
    (one,) = loaded.samples
    assert one.units[0].label is Gold.UNKNOWN and one.label is Gold.UNKNOWN and one.id == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"labels": [True]}, "labels"),
        ({"labels": [True, "no"]}, "labels"),
        ({"prompt": 3}, "prompt"),
        ({"segmented_response": []}, "segmented_response"),
        ({"segmented_response": ["a", 1]}, "segmented_response"),
        ({"index": "x"}, "index"),
        ({"index": "0"}, "index"),
        ({"type": ["a", "b", "c"]}, "type"),
        ({"response": 4}, "response"),
        ({"ref": "x"}, "ref"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, change, field):
    path = written(tmp_path / "f.jsonl", [row(0), row(1) | change])
    with pytest.raises(InputError) as error:
        load(path)
    assert (error.value.line, error.value.field) == (2, field)
    assert str(path) in str(error.value)


def test_what_is_no_json_or_no_utf8_is_said(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps(row(0)) + "\n{oops\n", encoding="utf-8")
    with pytest.raises(InputError, match=":2: not JSON"):
        load(path)
    path.write_bytes(json.dumps(row(0)).encode() + b"\n\xff\n")
    with pytest.raises(InputError, match=":2: not UTF-8"):
        load(path)
    with pytest.raises(UsageError):
        load(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="817 and 847"):
        load(path, version="1")


def test_stratified_samples_keep_the_shares_and_the_order(tmp_path):
    rows = [row(at, "wk" if at % 4 else "math", (True, False)) for at in range(40)]
    samples = load(written(tmp_path / "f.jsonl", rows)).samples
    chosen = stratified(samples, 10, seed=3)
    assert Counter(one.domain for one in chosen) in ({"wk": 7, "math": 3}, {"wk": 8, "math": 2})
    assert [one.id for one in chosen] == sorted(one.id for one in chosen)
    assert chosen == stratified(samples, 10, seed=3) != stratified(samples, 10, seed=4)
    assert stratified(samples, 100) == list(samples)


# --- the published file


def table(samples):
    """domain -> rows, segments, wrong segments, wrong responses."""
    found = {}
    for domain in {one.domain for one in samples}:
        own = [one for one in samples if one.domain == domain]
        units = [unit for one in own for unit in one.units]
        wrong = sum(unit.label is Gold.WRONG for unit in units)
        found[domain] = (len(own), len(units), wrong, sum(one.label is Gold.WRONG for one in own))
    return found


def test_the_published_file_has_its_counts():
    path = shared("felm/all.jsonl")
    loaded = load(path)
    assert table(loaded.samples) == {
        "wk": (184, 532, 147, 85),
        "science": (125, 684, 102, 39),
        "reasoning": (208, 1025, 146, 47),
        "math": (194, 599, 125, 64),
        "writing_rec": (136, 1586, 267, 47),
    }
    nan = next(one for one in loaded.repairs if one.what.startswith("response missing"))
    assert nan.ids == (350, 548)
    units = [unit for one in loaded.samples for unit in one.units]
    assert sum(is_enumerator(unit.text) for unit in units) == 103
    assert sum(not unit.text.strip() for unit in units) == 4
    types = Counter(unit.error_type for unit in units if unit.label is Gold.WRONG)
    assert types == {
        "knowledge_error": 354,
        "reasoning_error": 280,
        "irrelevant_with_qst": 102,
        "fooled": 29,
        None: 22,
    }
    assert sum(one.has_evidence for one in loaded.samples) == 299
    assert sum(len(one.units) for one in loaded.samples if one.has_evidence) == 1743


def test_the_first_version_is_the_first_817():
    samples = load(shared("felm/all.jsonl"), version="817").samples
    counted = [sum(column) for column in zip(*table(samples).values(), strict=True)]
    assert counted == [817, 3949, 570, 252]
    assert table(samples)["writing_rec"] == (106, 1109, 50, 17)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 900) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(row(0))), VALUES, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_whatever_stands_in_a_row_is_taken_or_refused_by_name(tmp_path, change):
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps(row(0) | change), encoding="utf-8")
    try:
        (one,) = load(path).samples
    except (InputError, UsageError) as error:
        assert str(path) in str(error)
    else:
        assert one.units
        for unit in one.units:
            assert unit.span is None or 0 <= unit.span[0] < unit.span[1] <= len(one.response)
