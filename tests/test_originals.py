"""Result files of SAFE, VeriScore and FActScore as runs: what they say, and what they left out."""

import copy
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import report
from veridical import cli
from veridical.errors import InputError, UsageError
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


BY_CLAIM = [
    {"A is B.": {"search_results": "", "response": "Supported.", "verification_result": "supported"},
     "C is D.": {"search_results": "", "response": "?", "verification_result": "i cannot tell"}},
    {},
]  # fmt: skip
"""As older releases of VeriScore wrote it."""


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


def test_what_veriscore_s_judge_saw_is_evidence_with_its_address(tmp_path):
    results = [
        f"Search result {n}\nTitle: Page {n}\nLink: {link}\nContent: Words {n}.\n\nMore.\n\n"
        for n, link in ((1, "https://a.example/1"), (2, "javascript:alert(1)"))
    ]
    claim = {"claim": "A is B.", "search_results": "".join(results), "verification_result": "contradicted"}
    row = VERISCORE[0] | {"all_claims": ["A is B.", "A is B."], "claim_verification_result": [claim]}
    [report] = Results(write(tmp_path / "x.jsonl", row))
    [fact] = report.facts
    assert fact.fact.repeats == 1  # VeriScore rates a claim once, however often it is made
    assert fact.verdict.label is Label.CONTRADICTED
    assert [(one.title, one.url, one.text) for one in fact.evidence.passages] == [
        ("Page 1", "https://a.example/1", "Words 1.\n\nMore."),
        ("Page 2", None, "Words 2.\n\nMore."),
    ]
    [search] = fact.evidence.searches
    assert (search.query, search.passages) == ("A is B.", tuple(one.id for one in fact.evidence.passages))


def test_veriscore_files_of_older_releases(tmp_path):
    first, second = Results(write(tmp_path / "x.jsonl", BY_CLAIM))
    assert outcomes(first) == [Label.SUPPORTED, "Omitted"]
    assert not second.facts
    late = write(tmp_path / "y.jsonl", list(reversed(BY_CLAIM)))
    assert is_results(late)
    assert [(one.generation.id, len(one.facts)) for one in Results(late)] == [("000001", 0), ("000002", 2)]


def test_a_stage_of_veriscore_without_verdicts_is_no_result(tmp_path):
    unrated = {name: value for name, value in VERISCORE[0].items() if name != "claim_verification_result"}
    assert not is_results(write(tmp_path / "evidence.jsonl", unrated))
    _, second = Results(write(tmp_path / "x.jsonl", [VERISCORE[1] | {"prompt_source": "s"}, VERISCORE[0] | {"id": 7}]))
    assert second.generation.id == "7"


def test_factscore_files(tmp_path):
    first, second = Results(write(tmp_path / "x_factscore_output.json", FACTSCORE))
    assert outcomes(first) == [Label.SUPPORTED, Label.NOT_ENOUGH_EVIDENCE]
    assert second.abstained
    assert [first.generation.id, second.generation.id] == ["000001", "000002"]  # as the lines of its input


def test_a_decision_that_is_none_is_not_taken_for_one(tmp_path):
    atoms = [{"atom": str(said), "is_supported": said} for said in ("True", None, "perhaps", 0.7, [True])]
    [report] = Results(write(tmp_path / "x.json", FACTSCORE | {"decisions": [[*atoms, {"atom": "none"}]]}))
    assert outcomes(report) == [Label.SUPPORTED, *["Omitted"] * 5]


def test_reports_of_a_run_are_read_by_themselves(tmp_path, capsys):
    made = [
        report("SSN", id="a", prompt="p", signature="m:1"),
        report("-", id="b", prompt="q"),
        report("SU", id="c", prompt="r"),
    ]
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in made))
    assert list(Results(path)) == made
    assert cli.run(["metrics", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "reports"
    assert found["scores"][0]["abstained"] == 1
    assert cli.run(["analyse", str(path)]) == 0


def test_a_side_that_was_not_rated_is_left_out(tmp_path):
    """The released settings leave side 1 a placeholder."""
    [prompt, other] = SAFE["per_prompt_data"]
    rated = prompt["side1_posthoc_eval_data"]
    second = {"prompt": prompt["prompt"], "side1_response": "[PLACEHOLDER RESPONSE]", "side2_is_idk": False,
              "side2_response": prompt["side1_response"], "side2_posthoc_eval_data": rated}  # fmt: skip
    [one] = Results(write(tmp_path / "x-SAFE.json", SAFE | {"per_prompt_data": [second]}))
    assert (one.generation.id, one.generation.system) == ("000001", "gpt_4")
    assert one.generation.metadata == {"is_idk": False}
    both = second | {"side1_posthoc_eval_data": rated}
    sides = {"side_1": "naive_factuality_prompt", "side_2": "vanilla_prompting", "per_prompt_data": [both]}
    made = [report.generation for report in Results(write(tmp_path / "y-SAFE.json", SAFE | sides))]
    assert [one.system for one in made] == ["gpt_4 (naive_factuality_prompt)", "gpt_4 (vanilla_prompting)"]
    assert len({one.id for one in made}) == 2
    with pytest.raises(InputError, match="no side has verdicts"):
        list(Results(write(tmp_path / "z-SAFE.json", SAFE | {"per_prompt_data": [other]})))


def test_c3_4_what_only_the_count_tells_of_is_counted(tmp_path):
    value = copy.deepcopy(SAFE)
    rated = value["per_prompt_data"][0]["side1_posthoc_eval_data"]
    split = rated.pop("all_atomic_facts")
    report, _ = Results(write(tmp_path / "x-SAFE.json", value))
    assert sorted(map(str, outcomes(report))) == ["Omitted", "irrelevant", "not_enough_evidence", "supported"]
    rated["sentences_and_atomic_facts"] = [[one["sentence"], one["atomic_facts"]] for one in split]
    report, _ = Results(write(tmp_path / "y-SAFE.json", value))
    assert report.facts[1].fact.text == "She sold it."
    del rated["sentences_and_atomic_facts"]
    rated["num_claims"] = 10**12
    with pytest.raises(InputError, match="num_claims"):
        list(Results(write(tmp_path / "z-SAFE.json", value)))


def test_records_of_two_kinds_and_texts_that_cannot_be_written_are_told(tmp_path):
    with pytest.raises(InputError, match=r"x\.jsonl:2: no record of VeriScore"):
        list(Results(write(tmp_path / "x.jsonl", [VERISCORE[0], FACTSCORE])))
    with pytest.raises(InputError, match=r"y\.json:1: a record of VeriScore"):
        list(Results(write(tmp_path / "y.json", VERISCORE[0] | {"response": "\ud800"})))


def test_f49_metrics_and_compare_read_them_and_leave_them_as_they_were(tmp_path, capsys):
    path = write(tmp_path / "x-SAFE.json", SAFE)
    before = path.read_bytes()
    assert cli.run(["metrics", str(path), "--metric", "precision", "--metric", "f1@64", "--json"]) == 0
    scores = {score["name"]: score for score in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["precision"]["value"] == 0.5
    assert scores["f1@64"]["value"] == pytest.approx(2 * 0.5 / 64 / (0.5 + 1 / 64))  # as SAFE has it of 1 and 1
    assert scores["precision"]["unjudged"] == {"verify:Omitted": 1}
    assert path.read_bytes() == before
    other = write(tmp_path / "y-SAFE.json", SAFE)
    assert cli.run(["compare", str(path), str(other), "--metric", "f1@median"]) == 0
    assert "K = " in capsys.readouterr().out
    assert cli.run(["metrics", str(write(tmp_path / "z.json", FACTSCORE)), "--metric", "precision"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "read as a file of FActScore, which lacks prompts, topics, texts and evidence" in shown
    assert "FActScore (file)" in shown


def test_answers_of_a_result_file_are_drawn_to_be_labelled(tmp_path, capsys):
    path, out = write(tmp_path / "x-SAFE.json", SAFE), tmp_path / "to_label.jsonl"
    assert cli.run(["correct", str(path), "--draw", "1", "--out", str(out)]) == 0
    [row] = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert "Ana Brandt sold the mill in 1932." in [fact["text"] for fact in row["facts"]]
    for fact in row["facts"]:
        fact["label"] = "supported"
    out.write_text(json.dumps(row), encoding="utf-8")
    assert cli.run(["correct", str(path), str(out), "--plan", "5"]) == 0


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


OWN = msgspec.to_builtins(report("SNIU", id="a", prompt="p"))


@given(st.sampled_from([SAFE, VERISCORE[0], BY_CLAIM[0], FACTSCORE, OWN]), st.data())
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


@given(st.sampled_from([SAFE, VERISCORE, BY_CLAIM, FACTSCORE, OWN]), st.data())
def test_any_damage_of_a_file_is_read_or_told_as_an_input_error(tmp_path_factory, original, data):
    path = write(tmp_path_factory.mktemp("results") / "x.json", original)
    whole = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(whole) - 1))
    whole[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=6))
    path.write_bytes(whole)
    try:
        list(Results(path))
        is_results(path)
    except UsageError as error:
        assert str(path) in str(error)
