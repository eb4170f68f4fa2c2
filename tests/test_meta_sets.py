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
    "factcheck-claims": ("factcheck_gpt", "", {"supported": 347, "contradicted": 83, "not_enough_evidence": 9}),
    "factcheck-truth": ("factcheck_gpt", "", {"supported": 472, "contradicted": 159}),
    "factcheck-sentences": ("factcheck_gpt", "", {"supported": 277, "not_supported": 34}),
    "factcheck-checkworthy": ("factcheck_gpt", "", {"supported": 661, "not_supported": 17}),
    "wikibio": ("wikibio_gpt3", "first120.jsonl", {"supported": 241, "not_supported": 735}),
    "wice": ("wice", "dev.jsonl", {"supported": 115, "not_supported": 234}),
    "fm2": ("fool_me_twice", "dev.jsonl", {"supported": 596, "contradicted": 573}),
    "fever-symmetric": ("fever_symmetric", "fever_symmetric_dev.jsonl", {"supported": 354, "contradicted": 354}),
    "bump": ("bump", "task1_dataset.json", {"supported": 693, "not_supported": 693}),
    "begin": ("begin", "", {"supported": 313, "not_supported": 835}),
    "summedits": ("summedits", "", {"supported": 912, "not_supported": 1762}),
    "factool": ("factool", "knowledge_qa.jsonl", {"supported": 177, "not_supported": 56}),
    "factscore": ("factscore_labeled", "", {"supported": 10106, "not_supported": 4419}),
}
"""Counts of the specification (section 9.1), less what a loader leaves out."""
WITHOUT = ("factool", "factscore", "factcheck-truth", "factcheck-sentences", "factcheck-checkworthy")
CLUSTERS = {"factcheck-bench": 92, "fever-symmetric": 177, "wice": 308, "bump": 99, "wikibio": 120, "factool": 50}


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
    assert all(bool(one.reference) for one in found) == (name not in WITHOUT)
    if name in CLUSTERS:
        assert len({one.metadata["cluster"] for one in found}) == CLUSTERS[name]


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


def test_lfqa(tmp_path):
    annotations, docs = tmp_path / "annotations", tmp_path / "docs"
    annotations.mkdir(), docs.mkdir()
    rows = [{"question_id": 0, "question": "Why  do skates glide?", "answers": [], "annotations": [
        {"labels": ["supported", "supported", "partially"], "answer": "Ice is slippery."},
        {"labels": ["partially", "not_supported", "supported"], "answer": "Nobody agrees on this."},
        {"labels": ["partially", "not_supported", "not_supported"], "answer": "Steel is warm."}]}]  # fmt: skip
    for name in ("gpt3", "gpt3_whudoc"):
        (annotations / f"annotations-{name}.json").write_text(json.dumps(rows))
    for name in ("human", "webgpt"):
        documents = [{"doc_id": "0", "title": "Ice", "text": f"Found by {name}."}, {"title": "", "text": "More."}]
        whole = [{"question_id": 7, "question": "why do skates glide?", "docs": documents}]
        (docs / f"docs-{name}.json").write_text(json.dumps(whole))
    found, labels = load(f"lfqa:{tmp_path}")
    assert labels == {"supported": 2, "not_supported": 2}
    assert [one.reference.split("\n")[0] for one in found] == 2 * ["Found by webgpt."] + 2 * ["Found by human."]
    assert {one.metadata["domain"] for one in found} == {"gpt3", "gpt3_whudoc"}
    rows[0]["question"] = "Another one?"
    (annotations / "annotations-gpt3.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="no documents for this question"):
        load(f"lfqa:{tmp_path}")


def test_bingcheck(tmp_path):
    checked = {
        "subclaims": ["A is B.", "A is C.", "A is D."],
        "evidence": {"A is B.": ["A is B.", "It is."], "A is C.": ["A is no C."]},
        "subconclusions": {"A is B.": "supported", "A is C.": "refuted", "A is D.": "partially supported"},
    }
    (tmp_path / "0_x.json").write_text(json.dumps({"x-1": {"query": "?", "response": "…", "fact-checking": checked}}))
    found, labels = load(f"bingcheck:{tmp_path}")
    assert labels == {"supported": 1, "contradicted": 1, "not_supported": 1}
    assert [one.reference for one in found] == ["A is B.\n\nIt is.", "A is no C.", ""]
    assert {one.metadata["cluster"] for one in found} == {"x-1"}


def test_factscore_s_pages_beside_its_labels(tmp_path):
    row = {"topic": "Ana Brandt", "output": "…", "annotations": [
        {"text": "…", "is-relevant": True, "human-atomic-facts": [
            {"text": "Ana is a miller.", "label": "S"}, {"text": "Ana is rich.", "label": "NS"},
            {"text": "Mills turn.", "label": "IR"}]},
        {"text": "…", "is-relevant": False, "human-atomic-facts": None}]}  # fmt: skip
    put(tmp_path / "GPT.jsonl", row, {"topic": "Nobody", "output": "I cannot say.", "annotations": None})
    found, labels = load(f"factscore:{tmp_path}")
    assert labels == {"supported": 1, "not_supported": 1}
    assert {(one.topic, one.reference, one.metadata["domain"]) for one in found} == {("Ana Brandt", None, "GPT")}
    put(tmp_path / "pages.jsonl", {"topic": "Ana Brandt", "text": "Ana is a miller."})
    found, _ = load(f"factscore:{tmp_path}")
    assert {one.reference for one in found} == {"Ana is a miller."}


def test_factcheck_bench_without_the_file_of_responses_is_clustered_by_claim(tmp_path):
    stances = ("completely-support", "partially-support", "irrelevant", "refute")
    rows = [{"claim": "A is B.", "evidence": f"Page {n}.", "stance": one} for n, one in enumerate(stances)]
    put(tmp_path / "subtask3_claim_evidence_stance.jsonl", *rows)
    found, labels = load(f"factcheck-bench:{tmp_path}")
    assert labels == {"supported": 1, "not_enough_evidence": 1, "contradicted": 1}
    assert {one.metadata["cluster"] for one in found} == {"A is B."}
    with pytest.raises(InputError, match="factcheck-GPT-benchmark"):
        load(f"factcheck-claims:{tmp_path}")


def test_felm_labels_are_never_guessed(tmp_path):
    row = {"index": "3", "segmented_response": ["A is B.", " "], "labels": [True, False], "ref_contents": ["A is B."]}
    _, labels = load(f"felm:{put(tmp_path / 'f.jsonl', row)}")
    assert labels == {"supported": 1}
    with pytest.raises(InputError, match="field 'labels'"):
        load(f"felm:{put(tmp_path / 'g.jsonl', row | {'labels': [None, False]})}")


def test_m1_segments_keep_the_response_they_are_of_and_missing_error_types_are_none(tmp_path):
    row = {"index": "3", "segmented_response": ["A.", "B.", "C."], "labels": [True, False, True],
           "ref_contents": "A.", "type": None}  # fmt: skip
    found, labels = load(f"felm:{put(tmp_path / 'f.jsonl', row)}")
    assert labels == {"supported": 2, "not_supported": 1}
    assert {one.metadata["cluster"] for one in found} == {"3"}
    assert not any("error_type" in one.metadata for one in found)


def test_licence_and_meaning_of_labels_are_told():
    assert all(known.licence and known.about for known in SETS.values())


@pytest.mark.parametrize(
    ("label", "meant"),
    [("supported", "supported"), ("Supports", "supported"), (True, "supported"), (1, "supported"),
     ("entailment", "supported"),
     ("REFUTES", "contradicted"), ("neutral", "not_enough_evidence"), ("NOT ENOUGH INFO", "not_enough_evidence"),
     (0, "not_supported"), ("unsupported", "not_supported"), ("0.0", "not_supported"), (" True ", "supported")],
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


def test_parquet(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": n, "claim": f"A is {n}.", "evidence": ["A is 0."], "label": n == 0, "pair": "x"} for n in (0, 1)]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "mine.parquet")
    first, second = labelled_set(str(tmp_path / "mine.parquet"))
    assert (first.id, first.facts[0].label, first.reference) == ("0", "supported", "A is 0.")
    assert (second.id, second.facts[0].label, second.metadata["pair"]) == ("1", "not_supported", "x")


def test_an_id_that_is_there_twice_is_refused(tmp_path):
    row = {"id": "a", "claim": "x", "evidence": "y", "label": "supported"}
    with pytest.raises(InputError, match="two claims have the id 'a'"):
        list(labelled_set(str(put(tmp_path / "mine.jsonl", row, row))))


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
    "x_kg", "stance", "segmented_response", "labels", "ref_contents", "checkworthy", "sentence", "annotations",
    "topic", "fact-checking", "sentences", "id",
)  # fmt: skip


@given(
    st.sampled_from(sorted(set(SETS) - {"begin", "healthver", "summedits", "lfqa"})),
    st.dictionaries(st.sampled_from(FIELDS), JSON),
)
def test_any_row_is_read_or_told_as_an_input_error(tmp_path_factory, name, row):
    path = put(tmp_path_factory.mktemp("sets") / "x.jsonl", row)
    try:
        for one in labelled_set(f"{name}:{path}"):
            assert one.facts[0].label in ("supported", "contradicted", "not_enough_evidence", "not_supported")
    except InputError as error:
        assert str(path) in str(error)
