"""`veridical felm`: a run that goes on, scores without a call, two runs compared, a run of `score` scored."""

import asyncio
import json
import re

import pytest

from data import shared
from felm_rows import row, small, written
from loopback import error
from test_cli import Served
from veridical import cli
from veridical.errors import FatalError, InputError, UsageError
from veridical.felm.data import load
from veridical.felm.evaluators import Prompted
from veridical.felm.run import FelmFolder, read, run
from veridical.models.scripted import Scripted


def flags_the_last(request):
    return f"Answer: {len(re.findall(r'^<segment-', request.prompt.rpartition('Now judge this:')[2], re.MULTILINE))}"


def felm(capsys, *arguments, status=0):
    assert cli.run(["felm", *map(str, arguments)]) == status
    return json.loads(capsys.readouterr().out)


def row_of(result, scope="all", level="segment"):
    return next(one for one in result["scores"]["figures"] if one["scope"] == scope and one["level"] == level)


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "felm.jsonl", small())


def test_a_run_is_scored_and_goes_on_without_a_call(file, tmp_path, capsys):
    with Served(flags_the_last) as server:
        command = [file, "--judge", f"{server.url}#m", "--out", tmp_path / "a", "--json"]
        first = felm(capsys, *command)
        calls = len(server.requests)
        again = felm(capsys, *command)
        assert len(server.requests) == calls == 6
    assert row_of(first)["confusion"] == {"tp": 3, "fp": 3, "fn": 1, "tn": 5}
    assert first["scores"] == again["scores"]
    assert first["scores"]["asked"] == 6 and first["scores"]["parse_failures"] == 0
    assert first["seconds"] > 0 and again["seconds"] == 0
    assert {path.name for path in (tmp_path / "a").iterdir()} >= {
        "predictions.jsonl",
        "run.json",
        "scores.json",
        "scores.md",
        "scores.csv",
        "misses.jsonl",
    }
    missed = [json.loads(line) for line in (tmp_path / "a" / "misses.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(missed) == 4 and {(one["label"], one["said"]) for one in missed} == {
        ("factual", "wrong"),
        ("wrong", "factual"),
    }
    assert json.loads((tmp_path / "a" / "scores.json").read_text(encoding="utf-8"))["sha256"] == first["sha256"]
    assert felm(capsys, file, "--predictions", tmp_path / "a", "--json")["scores"] == first["scores"]
    fewer = felm(
        capsys, file, "--predictions", tmp_path / "a" / "predictions.jsonl", "--json", "--without-type", "fooled"
    )
    assert fewer["scores"]["unlabelled"] == 1


def test_other_settings_do_not_append_to_a_run(file, tmp_path, capsys):
    with Served("Answer: 1") as server:
        command = ["felm", str(file), "--judge", f"{server.url}#m", "--out", str(tmp_path / "a")]
        assert cli.run(command) == 0
        assert cli.run([*command, "--method", "cot"]) == 2
        assert "made otherwise" in capsys.readouterr().err
        assert cli.run([*command, "--sample", "3"]) == 2
        assert cli.run([*command, "--method", "cot", "--fresh"]) == 0


def test_r3_a_stopped_run_keeps_what_it_has(file, tmp_path, capsys):
    limit = [3]

    def handler(request):
        limit[0] -= 1
        return "Answer: 1" if limit[0] >= 0 else error(401, "bad key")

    with Served(handler) as server:
        command = ["felm", str(file), "--judge", f"{server.url}#m", "--out", str(tmp_path / "a"), "--concurrency", "1"]
        assert cli.run(command) == 3
        assert 1 <= len(read(tmp_path / "a")) <= 3
        limit[0] = 1000
        asked = len(server.requests)
        assert cli.run(command) == 0
        assert len(server.requests) - asked <= 4  # the cache has what was paid for
    assert [one.id for one in read(tmp_path / "a")] == [0, 1, 2, 3, 4, 5]


def test_unread_answers_end_with_status_one(file, tmp_path, capsys):
    with Served("It is hard to say.") as server:
        result = felm(capsys, file, "--judge", f"{server.url}#m", "--out", tmp_path / "a", "--json", status=1)
    assert result["scores"]["parse_failures"] == 1 and result["scores"]["abstained"] == {"parse_error": 12}
    assert row_of(result)["abstentions"] == "as factual" and row_of(result)["coverage"] == 0


def test_the_embedded_judge_and_two_runs_paired(file, tmp_path, capsys):
    embedded = felm(capsys, file, "--out", tmp_path / "e", "--json")
    assert embedded["scores"]["abstained"]["no_evidence"] == 7
    with Served(flags_the_last) as server:
        judge = ["--judge", f"{server.url}#m", "--out", tmp_path / "m"]
        result = felm(capsys, file, *judge, "--against", tmp_path / "e", "--json")
    assert {(one["level"], one["abstentions"]) for one in result["against"]} == {
        ("segment", "as factual"),
        ("segment", "excluded"),
        ("response", "as factual"),
        ("response", "excluded"),
    }
    assert cli.run(["felm", str(file), "--predictions", str(tmp_path / "m"), "--against", str(tmp_path / "e")]) == 0
    shown = capsys.readouterr().out
    for word in ("segment level", "response level", "flag all", "people", "McNemar", "repairs of the file"):
        assert word in shown


def test_f2_samples_of_self_consistency_are_apart_in_the_cache(file, tmp_path, capsys):
    answers = iter(["Answer: 1", "Answer: 2", "Answer: 2"] * 100)
    with Served(lambda request: next(answers) if "burnt" in request.prompt else "Answer: ALL_CORRECT") as server:
        command = [file, "--judge", f"{server.url}#m", "--method", "cot", "--samples", "3", "--out", tmp_path / "a"]
        result = felm(capsys, *command, "--json")
        assert len(server.requests) == 18
        again = felm(capsys, *command, "--json", "--fresh")
        assert len(server.requests) == 18 and again["scores"]["figures"] == result["scores"]["figures"]
    assert [one.score for one in read(tmp_path / "a")[0].judgements] == [1 / 3, 2 / 3]
    assert row_of(result)["values"]["auc_roc"] is not None


def test_a_run_of_score_is_scored(file, tmp_path, capsys):
    command = ["score", str(file), "--facts", "given", "--method", "embedded", "--out", str(tmp_path / "s")]
    assert cli.run(command) in (0, 1)
    capsys.readouterr()
    result = felm(capsys, file, "--run", tmp_path / "s", "--json", status=1)  # samples without a reference are unjudged
    assert row_of(result, "with evidence")["n"] == 5 and row_of(result, "with evidence")["coverage"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "vanilla"], "embedded judge"),
        (["--samples", "9"], "--samples"),
        (["--units", "x"], "--units"),
        (["--judge", "scripted", "--method", "x"], "scripted"),
        (["--uncovered", "wrong"], "factual or abstain"),
        (["--not-enough", "x"], "--not-enough"),
        (["--predictions", "a", "--run", "b"], "exclude"),
        (["--predictions", "missing"], "missing"),
        (["--version", "3"], "817 and 847"),
    ],
)
def test_what_does_not_fit_is_one_line(file, tmp_path, capsys, arguments, words):
    assert cli.run(["felm", str(file), "--out", str(tmp_path / "a"), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_r2_a_torn_last_line_is_cut_and_another_input_refused(file, tmp_path):
    samples = load(file).samples
    folder = FelmFolder(tmp_path / "a")
    evaluator = Prompted(Scripted("Answer: 1"))

    def going(todo, done):
        with folder.held():
            return asyncio.run(run(todo, evaluator, folder, done=done))

    assert going(samples[:3], []) == 3
    whole = folder.reports_path.read_bytes()
    for torn in (whole + whole[:20], whole[:-1]):
        folder.reports_path.write_bytes(torn)
        assert len(read(folder.reports_path)) == 3
        assert folder.done() == ["0", "1", "2"] and folder.reports_path.read_bytes() == whole
    assert going(samples, folder.done()) == 3
    with pytest.raises(UsageError, match="another one"):
        going(samples[1:], ["0"])
    folder.reports_path.write_bytes(b"{}\n" + whole)
    with pytest.raises(InputError):
        read(folder.reports_path)
    folder.reports_path.write_bytes(whole + whole)
    with pytest.raises(UsageError, match="two predictions"):
        read(folder.reports_path)


def test_r4_predictions_are_in_order_however_slow(tmp_path):
    samples = load(written(tmp_path / "f.jsonl", [row(at) for at in range(30)])).samples
    folder = FelmFolder(tmp_path / "a")

    class Slow(Scripted):
        async def chat(self, request):
            await asyncio.sleep(0.01 * (hash(request.messages[0].content) % 3))
            return await super().chat(request)

    with folder.held():
        assert asyncio.run(run(samples, Prompted(Slow("Answer: 2")), folder, in_flight=8)) == 30
    assert [one.id for one in read(folder.path)] == list(range(30))
    broken = Prompted(Scripted(lambda _: FatalError("spent")))
    with folder.held(), pytest.raises(FatalError):
        asyncio.run(run(samples, broken, folder, done=[]))


def test_the_embedded_judge_on_the_published_file(tmp_path, capsys):
    result = felm(capsys, shared("felm/all.jsonl"), "--sample", "60", "--out", tmp_path / "e", "--json")
    assert result["scores"]["samples"] == 60 and row_of(result, "with evidence")["coverage"] == 1
