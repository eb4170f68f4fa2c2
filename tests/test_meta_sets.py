"""Labelled sets: the real files by their counts, the shapes of others by small ones of ours, and files of one's own."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from veridical.errors import InputError, UsageError
from veridical.meta import SETS, labelled_set

REAL = {
    "factcheck-bench": ("factcheck_gpt", "", {"supported": 696, "contradicted": 161, "not_enough_evidence": 2057}),
    "factcheck-claims": ("factcheck_gpt", "", {"supported": 472, "contradicted": 159}),
    "factcheck-sentences": ("factcheck_gpt", "", {"supported": 277, "not_supported": 34}),
    "wikibio": ("wikibio_gpt3", "first120.jsonl", {"supported": 241, "not_supported": 735}),
    "wice": ("wice", "dev.jsonl", {"supported": 115, "not_supported": 234}),
    "fm2": ("fool_me_twice", "dev.jsonl", {"supported": 596, "contradicted": 573}),
    "fever-symmetric": ("fever_symmetric", "fever_symmetric_dev.jsonl", {"supported": 354, "contradicted": 354}),
    "bump": ("bump", "task1_dataset.json", {"supported": 693, "not_supported": 693}),
    "begin": ("begin", "", {"supported": 313, "not_supported": 835}),
    "factool": ("factool", "knowledge_qa.jsonl", {"supported": 177, "not_supported": 56}),
}


def load(spec):
    found = list(labelled_set(spec))
    assert len({one.id for one in found}) == len(found)
    assert all(len(one.facts) == 1 and one.facts[0].text == one.text and one.metadata["cluster"] for one in found)
    return found, dict(Counter(one.facts[0].label for one in found))


@pytest.mark.parametrize("name", REAL)
def test_real_files_by_their_counts(name):
    folder, file, counts = REAL[name]
    found, labels = load(f"{name}:{shared(folder) / file}")
    assert labels == counts
    assert all(bool(one.reference) for one in found) or name in ("factool", "factcheck-claims", "factcheck-sentences")


def test_felm_s_segments_with_references():
    found, labels = load(f"felm:{shared('felm') / 'all.jsonl'}")
    assert labels["not_supported"] == 442
    assert len({one.metadata["cluster"] for one in found}) == 299
    assert {one.metadata["domain"] for one in found} == {"wk", "science", "writing_rec"}


def test_summedits_files_are_its_domains():
    found, _ = load(f"summedits:{shared('summedits')}")
    assert {one.metadata["domain"] for one in found} == {"podcast", "qmsumm", "sales_email", "samsum", "scitldr"}


def put(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_climate_fever(tmp_path):
    row = {"claim_id": "7", "claim": "Ice melts.", "claim_label": "SUPPORTS", "evidences": [
        {"evidence_id": "a:1", "evidence_label": "SUPPORTS", "article": "Ice", "evidence": "Ice melts at 0 C."},
        {"evidence_id": "a:2", "evidence_label": "NOT_ENOUGH_INFO", "article": "Ice", "evidence": "Ice is cold."},
        {"evidence_id": "a:3", "evidence_label": "REFUTES", "article": "Ice", "evidence": "It never melts."},
    ]}  # fmt: skip
    found, labels = load(f"climate-fever:{put(tmp_path / 'c.jsonl', row)}")
    assert labels == {"supported": 1, "not_enough_evidence": 1, "contradicted": 1}
    assert {one.metadata["cluster"] for one in found} == {"Ice melts."}


def test_healthver(tmp_path):
    path = tmp_path / "h.csv"
    path.write_text(
        'id,evidence,claim,label\n1,"Masks, worn well, help.",Masks help.,Supports\n2,None found.,Tea cures.,Neutral\n',
        encoding="utf-8",
    )
    found, labels = load(f"healthver:{path}")
    assert labels == {"supported": 1, "not_enough_evidence": 1}
    assert found[0].reference == "Masks, worn well, help."


def test_llm_aggrefact(tmp_path):
    rows = [{"dataset": "RAGTruth", "doc": "A is B.", "claim": "A is B.", "label": 1},
            {"dataset": "WiCE", "doc": "A is B.", "claim": "A is C.", "label": 0}]  # fmt: skip
    found, labels = load(f"llm-aggrefact:{put(tmp_path / 'a.jsonl', *rows)}")
    assert labels == {"supported": 1, "not_supported": 1}
    assert [one.metadata["domain"] for one in found] == ["RAGTruth", "WiCE"]


def test_refchecker(tmp_path):
    row = {"id": "q1", "reference": "Ana was born in Turin.", "gpt4_response": "…", "gpt4_response_kg": [
        {"triplet": ["Ana", "born in", "Turin"], "human_label": "Entailment"},
        {"triplet": ["Ana", "born in", "Rome"], "human_label": "Contradiction"}]}  # fmt: skip
    found, labels = load(f"refchecker:{put(tmp_path / 'r.jsonl', row)}")
    assert labels == {"supported": 1, "contradicted": 1}
    assert found[0].text == "Ana born in Turin"


@pytest.mark.parametrize(
    ("label", "meant"),
    [("supported", "supported"), ("Supports", "supported"), (True, "supported"), (1, "supported"),
     ("entailment", "supported"),
     ("REFUTES", "contradicted"), ("neutral", "not_enough_evidence"), ("NOT ENOUGH INFO", "not_enough_evidence"),
     (0, "not_supported"), ("unsupported", "not_supported")],
)  # fmt: skip
def test_a_file_of_one_s_own(label, meant, tmp_path):
    row = {"claim": "A is B.", "evidence": ["A is B.", "And so on."], "label": label, "domain": "d", "cluster": "doc1"}
    [one] = labelled_set(str(put(tmp_path / "mine.jsonl", row)))
    assert one.facts[0].label == meant
    assert one.reference == "A is B.\n\nAnd so on."
    assert one.metadata == {"cluster": "doc1", "domain": "d"}


def test_a_csv_and_a_claim_without_evidence(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("claim,evidence,label\nA is B.,A is B.,supported\n", encoding="utf-8")
    [one] = labelled_set(str(path))
    assert one.facts[0].label == "supported"
    [bare] = labelled_set(str(put(tmp_path / "bare.jsonl", {"claim": "A is B.", "label": "false"})))
    assert bare.reference is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"evidence": "x", "label": "supported"}, "field 'claim'"),
        ({"claim": "x", "evidence": "y"}, "field 'label': there is none"),
        ({"claim": "x", "evidence": "y", "label": "maybe"}, "field 'label': 'maybe' is none of"),
        ({"claim": "x", "evidence": 3, "label": "supported"}, "field 'evidence'"),
    ],
)
def test_bad_rows_name_file_line_and_field(row, words, tmp_path):
    good = {"claim": "x", "evidence": "y", "label": "supported"}
    with pytest.raises(InputError, match=r"mine\.jsonl:2") as told:
        list(labelled_set(str(put(tmp_path / "mine.jsonl", good, row))))
    assert words in str(told.value)


def test_names_and_paths_that_are_none(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        labelled_set(f"fm2:{tmp_path / 'none'}")
    with pytest.raises(UsageError, match="no labelled set 'fm3'"):
        labelled_set("fm3:x")
    with pytest.raises(UsageError, match="needs its path"):
        labelled_set("fm2")
    with pytest.raises(InputError, match="no labelled claim"):
        list(labelled_set(str(put(tmp_path / "empty.jsonl"))))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "claim", "evidence", "label", "text", "gold_evidence", "wikipedia_page", "evidences", "article", "doc", "summary",
    "edited_summary", "reference_summary", "gpt3_sentences", "annotation", "wiki_bio_text", "claims", "reference",
    "x_kg", "stance", "segmented_response", "labels", "ref_contents", "checkworthy", "sentence",
)  # fmt: skip


@given(
    st.sampled_from(sorted(set(SETS) - {"begin", "healthver", "summedits"})),
    st.dictionaries(st.sampled_from(FIELDS), JSON),
)
def test_any_row_is_read_or_told_as_an_input_error(tmp_path_factory, name, row):
    path = put(tmp_path_factory.mktemp("sets") / "x.jsonl", row)
    try:
        for one in labelled_set(f"{name}:{path}"):
            assert one.facts[0].label in ("supported", "contradicted", "not_enough_evidence", "not_supported")
    except InputError as error:
        assert str(path) in str(error)
