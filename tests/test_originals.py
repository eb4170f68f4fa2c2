"""Result files of SAFE, VeriScore and FActScore as runs: what they say, and what they left out."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import cli
from veridical.errors import InputError
from veridical.inputs.results import Results, is_results
from veridical.types import Label

MILL, ROUND, TURIN = "She sold the mill in 1932.", "Oranges are round.", "She was born in Turin."


def statement(sentence, fact, annotation, revised=None, rate="The search says so."):
    return {
        "sentence": sentence, "atomic_fact": fact, "self_contained_atomic_fact": revised or fact,
        "relevance_data": {"is_relevant": "…"}, "rate_data": {"response": rate, "answer": annotation},
        "annotation": annotation,
    }  # fmt: skip


SAFE = {
    "responder_model_short": "gpt_4",
    "per_prompt_data": [
        {
            "prompt": "Who was Ana Brandt?",
            "side1_response": f"{MILL} {ROUND} {TURIN}",
            "side1_posthoc_eval_data": {
                "num_claims": 4,
                "all_atomic_facts": [
                    {"sentence": MILL, "atomic_facts": [MILL, "She sold it."]},
                    {"sentence": ROUND, "atomic_facts": [ROUND]},
                    {"sentence": TURIN, "atomic_facts": [TURIN]},
                ],
                "checked_statements": [
                    statement(MILL, MILL, "Supported", "Ana Brandt sold the mill in 1932."),
                    statement(ROUND, ROUND, "Irrelevant"),
                    statement(TURIN, TURIN, "Not Supported"),
                ],
                "past_steps_jsonified_all": [
                    {
                        "google_searches": [
                            {"query": "Ana Brandt mill", "result": "Sold in 1932."},
                            {"query": "x", "result": ""},
                        ]
                    },
                    {},
                    {"google_searches": [{"query": "Ana Brandt Turin", "result": "Born in Rome."}]},
                ],
                "Supported": 1,
                "Irrelevant": 1,
                "Not Supported": 1,
                "f1_64": 0.03,
            },
        },
        {"prompt": "And the next?", "side1_response": "Nothing was rated here."},
    ],
}
VERISCORE = [
    {"question": "q", "response": "r", "model": "m", "prompt_source": "s", "abstained": False,
     "all_claims": ["A is B.", "C is D.", "E is F.", "G is H."],
     "claim_verification_result": [
         {"claim": "A is B.", "search_results": "A is B indeed.", "verification_result": "supported"},
         {"claim": "C is D.", "search_results": "", "verification_result": "unsupported."},
         {"claim": "E is F.", "search_results": "x", "verification_result": None}]},
    {"question": "q2", "response": "I cannot say.", "model": "m", "prompt_source": "s", "abstained": True},
]  # fmt: skip
FACTSCORE = {
    "score": 0.5, "respond_ratio": 0.5, "num_facts_per_response": 2.0,
    "decisions": [[{"atom": "A is B.", "is_supported": True}, {"atom": "C is D.", "is_supported": False}], None],
}  # fmt: skip


def write(path, value):
    rows = value if isinstance(value, list) else [value]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def outcomes(report):
    return [one.verdict.label if one.verdict else one.failure.error for one in report.facts]


def test_safe_files(tmp_path):
    first, second = Results(write(tmp_path / "x-SAFE.json", SAFE))
    assert (first.generation.prompt, first.generation.system) == ("Who was Ana Brandt?", "gpt_4")
    assert outcomes(first) == [Label.SUPPORTED, "Omitted", Label.IRRELEVANT, Label.NOT_ENOUGH_EVIDENCE]
    sold = first.facts[0]
    assert (sold.fact.text, sold.fact.original) == ("Ana Brandt sold the mill in 1932.", MILL)
    assert sold.verdict.rationale == "The search says so."
    assert [search.query for search in sold.evidence.searches] == ["Ana Brandt mill", "x"]
    assert [passage.text for passage in sold.evidence.passages] == ["Sold in 1932."]
    assert first.facts[1].fact.text == "She sold it."
    for sentence in first.sentences:
        assert first.generation.text[sentence.start : sentence.end] == sentence.text
    assert second.failure.message == "the file has no verdicts of this response"


def test_c3_4_what_safe_dropped_is_counted(tmp_path):
    path = write(tmp_path / "x-SAFE.json", SAFE)
    report = next(iter(Results(path)))
    rated = SAFE["per_prompt_data"][0]["side1_posthoc_eval_data"]
    assert len(report.facts) == rated["num_claims"]
    assert sum(one.failure is not None for one in report.facts) == 1


def test_veriscore_files(tmp_path):
    first, second = Results(write(tmp_path / "x.jsonl", VERISCORE))
    assert outcomes(first) == [Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE, "Omitted", "Omitted"]
    assert first.facts[0].evidence.passages[0].text == "A is B indeed."
    assert second.abstained


def test_factscore_files(tmp_path):
    first, second = Results(write(tmp_path / "x_factscore_output.json", FACTSCORE))
    assert outcomes(first) == [Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE]
    assert second.abstained


def test_metrics_and_compare_read_them(tmp_path, capsys):
    path = write(tmp_path / "x-SAFE.json", SAFE)
    before = path.read_bytes()
    assert cli.run(["metrics", str(path), "--metric", "precision", "--metric", "f1@64", "--json"]) == 0
    scores = {score["name"]: score for score in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["precision"]["value"] == 0.5
    assert scores["precision"]["unjudged"] == {"verify:Omitted": 1}
    assert path.read_bytes() == before  # F49
    other = write(tmp_path / "y-SAFE.json", SAFE)
    assert cli.run(["compare", str(path), str(other), "--metric", "f1@median"]) == 0
    assert "K = " in capsys.readouterr().out
    assert cli.run(["metrics", str(write(tmp_path / "z.json", FACTSCORE)), "--metric", "precision"]) == 0
    assert "FActScore (file)" in capsys.readouterr().out


def test_what_is_no_result_file_is_told(tmp_path, capsys):
    path = write(tmp_path / "input.jsonl", {"text": "A generation."})
    assert not is_results(path)
    assert cli.run(["metrics", str(path)]) == 2
    assert "input.jsonl:1: neither a run folder nor a result file" in capsys.readouterr().err
    broken = write(
        tmp_path / "b.json",
        {"per_prompt_data": [{"side1_response": "x", "side1_posthoc_eval_data": {"checked_statements": [1]}}]},
    )
    with pytest.raises(InputError, match="checked_statements must be a list of objects"):
        list(Results(broken))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield (*path, key)
            yield from places(inner, (*path, key))


@given(st.sampled_from([SAFE, VERISCORE[0], FACTSCORE]), st.data())
def test_any_change_of_a_file_is_read_or_told_as_an_input_error(tmp_path_factory, original, data):
    value = copy.deepcopy(original)
    *way, last = data.draw(st.sampled_from(sorted(places(value), key=repr)))
    inner = value
    for step in way:
        inner = inner[step]
    inner[last] = data.draw(JSON)
    path = write(tmp_path_factory.mktemp("results") / "x.json", value)
    try:
        reports = list(Results(path))
    except InputError as error:
        assert str(path) in str(error)
        return
    assert all(one.fact.text is not None for report in reports for one in report.facts)
