"""Published files as they are: rewritten small ones, and the real ones where they lie beside the project."""

import io
import json
import struct
import zipfile
import zlib
from collections import Counter

import pytest

from data import shared
from veridical.errors import InputError
from veridical.inputs import read
from veridical.metrics import parse
from veridical.scores import by, score
from veridical.types import AtomicFact, Generation, JudgedFact, Label, Report, Verdict

SYSTEMS = ("InstructGPT", "ChatGPT", "PerplexityAI")


@pytest.fixture
def put(tmp_path):
    def put(*rows, name="in.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return put


# --- FActScore -------------------------------------------------------------------------------------------------------


def annotated(**more):
    sentence = {
        "text": "Ana Brandt sold mills.",
        "is-relevant": True,
        "model-atomic-facts": [{"text": "Brandt sold mills."}],
        "human-atomic-facts": [{"text": "Ana sold.", "label": "S"}, {"text": "Mills exist.", "label": "IR"}],
    }
    aside = {
        "text": "Ask me more.",
        "is-relevant": False,
        "model-atomic-facts": [{"text": "One asks."}],
        "human-atomic-facts": None,
    }
    return {
        "input": "Question: Tell me a bio of Ana Brandt.",
        "output": "Ana Brandt sold mills. Ask me more.",
        "topic": "Ana Brandt",
        "cat": ["rare", "Europe/Middle East"],
        "annotations": [sentence, aside],
    } | more


def test_labelled_biographies(put):
    inputs = read(put(annotated(), annotated(annotations=None, output="")))
    found, abstained = inputs
    assert inputs.format == "factscore labelled"
    assert [(fact.text, fact.label, fact.sentence) for fact in found.facts] == [
        ("Ana sold.", "supported", "Ana Brandt sold mills."),
        ("Mills exist.", "irrelevant", "Ana Brandt sold mills."),
    ]
    assert found.metadata == {
        "frequency": "rare",
        "region": "Europe/Middle East",
        "irrelevant_sentences": [{"text": "Ask me more.", "facts": ["One asks."]}],
    }
    assert (found.abstained, abstained.abstained, abstained.facts) == (False, True, None)
    (of_model, _) = read(put(annotated(), annotated(annotations=None)), facts="model")
    assert [(fact.text, fact.label) for fact in of_model.facts] == [("Brandt sold mills.", None), ("One asks.", None)]


@pytest.mark.parametrize("annotations", ["x", [1], [{"human-atomic-facts": [None]}], [{"human-atomic-facts": 3}]])
def test_odd_annotations_are_named(put, annotations):
    with pytest.raises(InputError, match="field 'annotations'"):
        list(read(put(annotated(annotations=annotations))))


def test_unknown_human_labels_are_never_guessed(put):
    sentence = {"text": "s", "human-atomic-facts": [{"text": "f", "label": "maybe"}]}
    with pytest.raises(InputError, match="'maybe', not S, NS or IR"):
        list(read(put(annotated(annotations=[sentence]))))


@pytest.mark.parametrize("key", ["LLAMA+NP_Labels", "ChatGPT_labels"])
def test_predictions_for_unlabelled_biographies(put, key):
    (found,) = read(put({"prompt": "Tell me a bio of B.", "facts": ["B lived.", "B died."], key: ["S", "NS"]}))
    assert (found.text, [fact.text for fact in found.facts]) == ("B lived.\nB died.", ["B lived.", "B died."])
    assert all(fact.label is None for fact in found.facts)
    assert found.metadata == {key: ["S", "NS"]}


def labelled(system):
    return list(read(str(shared("factscore_labeled") / f"{system}.jsonl")))


def test_f11_counts_of_the_labelled_files():
    wanted = {
        "InstructGPT": (183, 1, 181, 4726, (2100, 1971, 655), 10),
        "ChatGPT": (183, 26, 157, 5426, (3194, 1692, 540), 2),
        "PerplexityAI": (183, 17, 158, 5888, (4812, 756, 320), 220),
    }
    for system, counts in wanted.items():
        found = labelled(system)
        labels = Counter(fact.label for g in found for fact in g.facts or ())
        assert (
            len(found),
            sum(bool(g.abstained) for g in found),
            sum(bool(g.facts) for g in found),
            labels.total(),
            tuple(labels[label] for label in ("supported", "not_supported", "irrelevant")),
            sum(len(g.metadata.get("irrelevant_sentences", ())) for g in found),
        ) == counts


def test_f11_model_facts_of_the_labelled_files():
    found = {s: read(str(shared("factscore_labeled") / f"{s}.jsonl"), facts="model") for s in SYSTEMS}
    counts = [sum(len(g.facts or ()) for g in generations) for generations in found.values()]
    assert counts == [4987, 5622, 7171]


def test_f12_all_labelled_facts():
    found = [g for system in SYSTEMS for g in labelled(system) if g.facts]
    assert len(found) == 496
    assert sum(len(g.facts) for g in found) == 16_040
    assert sum(len({fact.text for fact in g.facts}) for g in found) == 16_011
    labels = Counter(fact.label for g in found for fact in g.facts)
    assert labels == {"supported": 10_106, "not_supported": 4_419, "irrelevant": 1_515}


VERDICTS = {
    "supported": Label.SUPPORTED,
    "not_supported": Label.NOT_ENOUGH_EVIDENCE,
    "irrelevant": Label.IRRELEVANT,
}


def as_labelled(generation: Generation, *, irrelevant_sentences: bool = False) -> Report:
    """A report with the human labels as verdicts; with the model facts of irrelevant sentences as not supported."""
    facts = [(fact.text, VERDICTS[fact.label]) for fact in generation.facts or ()]
    if irrelevant_sentences:
        asides = generation.metadata.get("irrelevant_sentences", ())
        facts += [(text, Label.NOT_ENOUGH_EVIDENCE) for aside in asides for text in aside["facts"]]
    judged = (
        JudgedFact(
            fact=AtomicFact(id=f"{generation.id}/0.{n}", text=text, sentence=0),
            verdict=Verdict(label=label, judge="human"),
        )
        for n, (text, label) in enumerate(facts)
    )
    return Report(generation=generation, facts=tuple(judged), abstained=bool(generation.abstained))


@pytest.mark.parametrize(
    "system, a, b, c, responding",
    [
        ("InstructGPT", 42.58, 42.81, 47.39, 99.5),
        ("ChatGPT", 58.28, 58.30, 62.33, 85.8),
        ("PerplexityAI", 71.62, 80.38, 84.02, 90.7),
    ],
)
def test_f13_human_factscore_by_three_rules(system, a, b, c, responding):
    found = labelled(system)
    paper = [as_labelled(g, irrelevant_sentences=True) for g in found]
    human = [as_labelled(g) for g in found]
    plain, precision, rate = parse("factscore(gamma=0)"), parse("precision"), parse("response_rate")
    values = [score(paper, plain).value, score(human, plain).value, score(human, precision).value]
    assert [100 * value for value in values] == pytest.approx([a, b, c], abs=0.005)
    assert 100 * score(human, rate).value == pytest.approx(responding, abs=0.05)


def test_f13_by_frequency():
    human = [as_labelled(g) for g in labelled("ChatGPT")]
    groups = by(human, "frequency", [parse("precision")], resamples=10)
    order = ("very rare", "rare", "medium", "freq", "very freq")
    values = [groups[name][0].value for name in order]
    assert values == pytest.approx([0.302, 0.456, 0.594, 0.780, 0.824], abs=0.0006)


# --- SAFE, VeriScore, FELM, WikiBio ----------------------------------------------------------------------------------


def safe():
    checked = [
        {"sentence": "B sold mills.", "atomic_fact": "He sold.", "self_contained_atomic_fact": "B sold mills.",
         "annotation": "Supported"},
        {"sentence": "B lived.", "atomic_fact": "B lived.", "annotation": "Irrelevant"},
    ]  # fmt: skip
    return {
        "responder_model_short": "m-1",
        "side_1": "vanilla_prompting",
        "side_2": "none",
        "per_prompt_data": [
            {"prompt": "Who?", "side1_response": "B sold mills. B lived.",
             "side1_posthoc_eval_data": {"checked_statements": checked}, "side2_response": "No."},
            {"prompt": "What?", "side1_response": "That."},
            {"prompt": "When?", "side1_response": None},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_safe_results(tmp_path, indent):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(safe(), indent=indent), encoding="utf-8")
    inputs = read(str(path), on_error="skip")
    first, other, second = inputs
    assert inputs.format == "safe"
    assert [g.id for g in (first, other, second)] == ["000001-side1", "000001-side2", "000002"]
    assert (first.prompt, first.system, first.metadata["side"]) == ("Who?", "m-1", "vanilla_prompting")
    assert [(f.text, f.label) for f in first.facts] == [("B sold mills.", None), ("B lived.", None)]
    assert first.metadata["safe_annotations"] == ["Supported", "Irrelevant"]
    assert second.facts is None
    assert "response 000003: null, not a string" in str(inputs.skipped[0])


def test_veriscore_files(put):
    rows = (
        {"question": "q", "response": "r", "model": "m", "prompt_source": "s"},
        {"question": "q", "response": "r2", "model": "m", "prompt_source": "s", "abstained": False,
         "all_claims": ["A is B."], "claim_list": [["A is B."]],
         "claim_verification_result": [{"claim": "A is B.", "verification_result": "supported"}]},
        {"question": "q", "response": "Sorry", "model": "m", "prompt_source": "s", "abstained": True},
        {"question": "q", "response": "r3", "prompt_source": "s", "all_claims": ["No verifiable claim."]},
    )  # fmt: skip
    inputs = read(put(*rows))
    plain, verified, abstained, claimless = inputs
    assert inputs.format == "veriscore"
    assert (plain.facts, plain.system, plain.prompt, plain.metadata) == (None, "m", "q", {"prompt_source": "s"})
    assert [(fact.text, fact.label) for fact in verified.facts] == [("A is B.", None)]
    assert verified.metadata["claim_verification_result"][0]["verification_result"] == "supported"
    assert (abstained.abstained, claimless.facts) == (True, ())


def test_felm_files(put):
    row = {"index": "5", "domain": "wk", "prompt": "p", "response": "A. B.", "segmented_response": ["A.", "B.", " "],
           "labels": [True, False, True], "ref_contents": ["One page.", ""], "type": [None, "", None]}  # fmt: skip
    inputs = read(put(row, row | {"index": "6", "ref_contents": "", "labels": [True]}), on_error="skip")
    (found,) = inputs
    assert (inputs.format, found.id, found.reference) == ("felm", "5", "One page.")
    assert [(fact.text, fact.label) for fact in found.facts] == [("A.", "supported"), ("B.", "not_supported")]
    assert found.metadata["labels"] == [True, False, True]
    assert inputs.skipped[0].field == "labels"


def test_felm_as_it_is():
    inputs = read(str(shared("felm") / "all.jsonl"), on_error="skip")
    found = list(inputs)
    assert (len(found), inputs.format) == (845, "felm")
    assert [str(error).split(": ", 1)[1] for error in inputs.skipped] == ["field 'response': NaN, not a string"] * 2
    assert Counter(fact.label for g in found for fact in g.facts)["not_supported"] == 787


def test_wikibio_as_it_is():
    inputs = read(str(shared("wikibio_gpt3") / "first120.jsonl"))
    found = list(inputs)
    assert (len(found), inputs.format, inputs.fields["reference"]) == (120, "wikibio gpt-3", "wiki_bio_text")
    assert (found[0].id, found[0].topic) == ("394", "michael savage")
    assert all(g.topic and g.reference and len(g.metadata["annotation"]) for g in found)


def test_samples_of_wikibio(put):
    row = {"gpt3_text": "A.", "wiki_bio_text": "B.", "gpt3_text_samples": ["C.", "D."], "annotation": ["accurate"]}
    inputs = read(put(row, row | {"gpt3_text_samples": ["C.", 4]}), on_error="skip")
    (found,) = inputs
    assert (found.samples, found.metadata) == (("C.", "D."), {"annotation": ["accurate"]})
    assert inputs.fields["samples"] == "gpt3_text_samples"
    assert (inputs.skipped[0].line, inputs.skipped[0].field) == (2, "gpt3_text_samples")


# --- Inspect AI ------------------------------------------------------------------------------------------------------


def inspected(id, epoch, content, **more):
    return {
        "id": id,
        "epoch": epoch,
        "input": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "Who?"}]}],
        "target": "x",
        "output": {"choices": [{"message": {"role": "assistant", "content": content}}], "completion": ""},
        "metadata": {"level": "easy"},
    } | more


HEAD = {"eval": {"model": "mock/m", "task": "bios"}}
FAILED = inspected(3, 1, "", output={"choices": [], "completion": ""}, error={"message": "no network"})
THOUGHT = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Ten."}]
ANSWERS = [("b", 1, "B."), (10, 1, THOUGHT), (2, 1, "Two."), ("b", 2, "B again.")]
SAMPLES = [*(inspected(*answer) for answer in ANSWERS), FAILED]


def members():
    yield "header.json", HEAD
    yield "summaries.json", []
    yield from ((f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample) for sample in SAMPLES)


def deflated():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members():
            archive.writestr(name, json.dumps(value))
    return file.getvalue()


def zstandard(spoil=0):
    """A zip with Zstandard members, as Inspect writes it, put together by hand (PKWARE APPNOTE, 4.3)."""
    codec = pytest.importorskip("pyarrow").Codec("zstd")
    body, index = b"", b""
    for name, value in members():
        plain = json.dumps(value).encode()
        packed = codec.compress(plain, asbytes=True)
        sizes = struct.pack("<III", zlib.crc32(plain) ^ spoil, len(packed), len(plain))
        common = struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes + struct.pack("<HH", len(name), 0)
        index += b"PK\1\2" + struct.pack("<H", 63) + common
        index += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\3\4" + common + name.encode() + packed
    count = body.count(b"PK\3\4")
    return body + index + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(index), len(body), 0)


def log():
    return json.dumps(HEAD | {"samples": SAMPLES}, indent=1).encode()


@pytest.mark.parametrize("made", [deflated, zstandard, log])
def test_logs_of_inspect(tmp_path, made):
    path = tmp_path / "log.eval"
    path.write_bytes(made())
    inputs = read(str(path), on_error="skip")
    found = {g.id: g for g in inputs}
    assert inputs.format == "inspect log"
    assert {id: g.text for id, g in found.items()} == {"2": "Two.", "10": "Ten.", "b": "B.", "b-epoch2": "B again."}
    assert (found["b"].prompt, found["b"].system) == ("Who?", "mock/m")
    assert not any(g.samples for g in found.values())
    assert found["b-epoch2"].metadata == {"target": "x", "epoch": 2, "task": "bios", "level": "easy"}
    assert "sample 3: ended in an error: no network" in str(inputs.skipped[0])
    if made is not log:
        assert list(found) == ["2", "10", "b", "b-epoch2"]


def test_damaged_logs_and_other_zip_files(tmp_path):
    path = tmp_path / "log.eval"
    for content, words in ((deflated()[:400], "cannot be unpacked"), (zstandard(spoil=1), "another checksum")):
        path.write_bytes(content)
        with pytest.raises(InputError, match=words):
            list(read(str(path), on_error="skip"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sheet.xml", "<x/>")
    with pytest.raises(InputError, match="no log of Inspect AI"):
        list(read(str(path)))
