"""The command line as users meet it: status, streams, files."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from data import shared
from loopback import Loopback, chat, error
from replying import reply
from veridical import cli

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    assert cli.run(["knowledge", "build", str(EXAMPLES / "encyclopaedia.jsonl"), "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def scored(kb, tmp_path_factory):
    """A finished run of the examples with the embedded parts."""
    out = tmp_path_factory.mktemp("run") / "run"
    arguments = [str(EXAMPLES / "generations.jsonl"), "--knowledge", str(kb), "--out", str(out)]
    assert cli.run(["score", *arguments]) == 0
    return out


class Served:
    """A loopback server in a thread of its own, for commands that run their own event loop."""

    def __init__(self, handler):
        self.server = Loopback(handler)
        self._ready, self._stop = threading.Event(), None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        import asyncio

        async def main():
            self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
            async with self.server:
                self._ready.set()
                await self._stop.wait()

        asyncio.run(main())

    def __enter__(self):
        self._thread.start()
        self._ready.wait()
        return self.server

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def items(path: Path, count: int = 6) -> Path:
    lines = [
        {
            "id": str(n),
            "topic": f"Mill {n}",
            "text": f"Mill {n} opened in {1800 + n} beside the river and its owner sold it to the town.",
            "reference": f"Mill {n} opened in {1800 + n} beside the river.",
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def judged(server, *more: str) -> list[str]:
    return ["--judge", f"{server.url}#m", "--read", "text", *more]


def test_score_prints_value_interval_denominators_and_signature(scored, kb, capsys):
    arguments = [str(EXAMPLES / "generations.jsonl"), "--knowledge", str(kb), "--out", str(scored)]
    assert cli.run(["score", *arguments]) == 0
    printed, progress = capsys.readouterr()
    assert "15 generations, no new facts" in progress and "facts/s" not in progress  # the run was finished before
    for words in ("factscore(gamma=10)", "14 of 15", "abstained 1", "signature:", "caution:", "response rate 0.933"):
        assert words in printed


def test_metrics_of_a_finished_run_as_json(scored, capsys):
    assert cli.run(["metrics", str(scored), "--json", "--metric", "f1@8", "--metric", "factscore(gamma=0)"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert [score["name"] for score in scores] == ["f1@8", "factscore(gamma=0)"]
    assert all(0 <= score["low"] <= score["value"] <= score["high"] <= 1 and score["n"] == 15 for score in scores)


def test_facts_as_a_parquet_table(scored, kb, capsys):
    import pyarrow.parquet

    arguments = [str(EXAMPLES / "generations.jsonl"), "--knowledge", str(kb), "--out", str(scored), "--parquet"]
    assert cli.run(["score", *arguments]) == 0
    table = pyarrow.parquet.read_table(scored / "facts.parquet").to_pylist()
    reports = [json.loads(line) for line in (scored / "reports.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["fact_id"] for row in table] == [f["fact"]["id"] for r in reports for f in r.get("facts", [])]
    assert all(row["label"] and row["quote"] and row["source"] for row in table if row["label"] == "supported")


def test_factscore_s_labelled_file_is_read_as_it_is(tmp_path, capsys):
    arguments = ["score", str(shared("factscore_labeled") / "ChatGPT.jsonl"), "--facts", "given"]
    with Served("True") as server:
        arguments += ["--method", "no-context", "--concurrency", "64", *judged(server), "--out", str(tmp_path / "run")]
        assert cli.run([*arguments, "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["scores"][1]
    assert (score["n"], score["abstained"], score["scored"], score["value"]) == (183, 26, 157, 1.0)
    assert 5_400 < score["facts"] == score["facts_judged"] <= 5_426  # 5,426 rows, repeated ones merged


def test_three_choices_tell_contradicted_from_unknown(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 2), tmp_path / "run"

    def handler(request):
        if b"split sentences" in request.body:
            return chat(json.dumps({"facts": ["The mill opened in 1800.", "Its owner sold the mill."]}))
        return "Contradicted" if "opened" in request.prompt.rsplit("<statement", 1)[1] else "Not enough evidence"

    with Served(handler) as server:
        more = ["--choices", "three", "--shape", "json", "--json"]
        assert cli.run(["score", str(path), "--out", str(out), "--judge", f"{server.url}#m", *more]) == 0
        assert any("response_format" in body for body in server.bodies)
    reports = [json.loads(line) for line in (out / "reports.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = [fact["verdict"]["label"] for report in reports for fact in report["facts"]]
    assert labels == ["contradicted", "not_enough_evidence"] * 2


def test_another_setting_is_refused_and_named(scored, kb, capsys):
    arguments = [str(EXAMPLES / "generations.jsonl"), "--knowledge", str(kb), "--out", str(scored), "-k", "2"]
    assert cli.run(["score", *arguments]) == 2
    assert "gatherer.k: 5 then, 2 now" in capsys.readouterr().err


def test_given_facts_and_a_threshold(kb, tmp_path, capsys):
    arguments = [str(EXAMPLES / "gold.jsonl"), "--facts", "given", "--knowledge", str(kb)]
    assert cli.run(["score", *arguments, "--out", str(tmp_path / "a"), "--json", "--fail-under", "0.99"]) == 1
    captured = capsys.readouterr()
    assert "below 0.99" in captured.err
    result = json.loads(captured.out)["scores"][0]
    assert result["facts"] == result["facts_judged"] == 135 and result["abstained"] == 1


def test_check_prints_facts_evidence_and_source(kb, capsys):
    text = "Sure! Ada Lovelace died in 1862. She was a mathematician."
    assert cli.run(["check", text, "--topic", "Ada Lovelace", "--knowledge", str(kb)]) == 0
    printed = capsys.readouterr().out
    assert "Ada Lovelace died in 1862" in printed and "Ada Lovelace (" in printed


def test_check_of_a_missing_topic_is_unscored_with_suggestions(kb, capsys):
    assert cli.run(["check", "She was born in 1815.", "--topic", "Ada Lovelac", "--knowledge", str(kb)]) == 1
    printed = capsys.readouterr().out
    assert "TopicNotFound" in printed and "Ada Lovelace" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "nowhere.jsonl", "--out", "x"], "nowhere.jsonl"),
        (["score", "{items}", "--out", "x", "--method", "magic"], "magic"),
        (["score", "{items}", "--out", "x", "--method", "factscore"], "--judge"),
        (["score", "{items}", "--out", "x", "--judge", "nobody/x"], "nobody"),
        (["score", "{items}", "--out", "x", "--metric", "beauty"], "beauty"),
        (["score", "{items}", "--out", "x", "--abstain", "often"], "often"),
        (["score", "{items}", "--out", "x", "--facts", "stolen"], "stolen"),
        (["score", "{items}", "--out", "x", "--knowledge", "none.sqlite"], "none.sqlite"),
        (["check", "text"], "--knowledge"),
        (["metrics", "nowhere"], "nowhere"),
        (["compare", "nowhere"], "two"),
        (["fly"], "fly"),
    ],
)
def test_usage_errors_are_one_line_and_status_2(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = str(items(tmp_path / "items.jsonl"))
    assert cli.run([argument.replace("{items}", path) for argument in arguments]) == 2
    err = capsys.readouterr().err
    assert words in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err


def test_a_config_file_gives_options_by_name_and_the_command_line_wins(kb, tmp_path, capsys):
    config = tmp_path / "v.toml"
    config.write_text(f'knowledge = "{kb}"\nmetric = ["facts"]\nsample = 3\ngamma = 0\n', encoding="utf-8")
    arguments = [str(EXAMPLES / "generations.jsonl"), "--out", str(tmp_path / "run"), "--config", str(config), "--json"]
    assert cli.run(["score", *arguments, "--sample", "2"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert {"factscore(gamma=0)", "precision", "facts"} == {score["name"] for score in scores} and scores[0]["n"] == 2
    config.write_text("colour = 1\n", encoding="utf-8")
    assert cli.run(["score", *arguments]) == 2
    assert "colour" in capsys.readouterr().err


def test_score_with_a_judge_resumes_from_stored_calls(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl"), tmp_path / "run"
    with Served(reply) as server:
        assert cli.run(["score", str(path), "--out", str(out), *judged(server)]) == 0
        asked = len(server.requests)
        assert cli.run(["score", str(path), "--out", str(out), *judged(server), "--fresh"]) == 0
        assert len(server.requests) == asked > 0


def test_f54_a_wrong_key_stops_at_once_and_scores_nothing(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 200), tmp_path / "run"
    with Served(error(401, "Incorrect API key provided")) as server:
        assert cli.run(["score", str(path), "--out", str(out), *judged(server)]) == 3
        assert len(server.requests) <= 2 * 16  # what was under way at a concurrency of 16, not 200
    assert "Incorrect API key provided" in capsys.readouterr().err
    assert (out / "reports.jsonl").read_bytes() == b""


def test_e1_spent_quota_stops_the_run_and_the_same_command_goes_on(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 12), tmp_path / "run"
    empty = threading.Event()

    def handler(request):
        if len(server.requests) > 20 and not empty.is_set():
            return error(429, "You exceeded your current quota", code="insufficient_quota")
        return reply(request)

    with Served(handler) as server:
        arguments = ["score", str(path), "--out", str(out), "--concurrency", "2", "--json"]
        assert cli.run([*arguments, "--judge", f"{server.url}#m", "--read", "text"]) == 3
        assert "exceeded your current quota" in capsys.readouterr().err
        stopped = len((out / "reports.jsonl").read_text(encoding="utf-8").splitlines())
        assert 0 < stopped < 12
        empty.set()
        before = len(server.requests)
        assert cli.run([*arguments, "--judge", f"{server.url}#m", "--read", "text"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"][0]["scored"] == 12
    bodies = [request.body for request in server.requests]
    answered = bodies[:20]
    assert not set(answered) & set(bodies[before:])


def test_c2_what_stays_unscored_is_counted_bounded_and_gives_status_1(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl"), tmp_path / "run"

    def handler(request):
        if "Mill 3" in request.prompt and "True or False" in request.prompt:
            return error(400, "this statement is not to my taste")
        return reply(request)

    with Served(handler) as server:
        assert cli.run(["score", str(path), "--out", str(out), *judged(server), "--json"]) == 1
    captured = capsys.readouterr()
    score = json.loads(captured.out)["scores"][0]
    assert score["n"] == 6 and score["scored"] == 5 and score["unscored"] == {"verify:ModelError": 1}
    assert score["bounds"][0] <= score["value"] <= score["bounds"][1] and score["bounds"][0] < score["bounds"][1]
    assert "unscored" in captured.err


def test_l3_logprobs_asked_for_and_not_given_stop_before_the_run(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 2), tmp_path / "run"
    with Served(reply) as server:
        arguments = ["score", str(path), "--out", str(out), "--judge", f"{server.url}#m", "--json"]
        assert cli.run([*arguments, "--read", "logprobs"]) == 2
        assert len(server.requests) == 1 and "--read text" in capsys.readouterr().err
        assert cli.run([*arguments, "--read", "auto"]) == 0
    reports = [json.loads(line) for line in (out / "reports.jsonl").read_text(encoding="utf-8").splitlines()]
    modes = {fact["verdict"].get("mode", "text") for report in reports for fact in report["facts"]}
    assert modes == {"text"}


def test_nothing_to_judge_against_is_said_before_the_run(tmp_path, capsys):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"text": "The mill opened in 1890."}\n', encoding="utf-8")
    assert cli.run(["score", str(path), "--out", str(tmp_path / "a")]) == 2
    assert "--knowledge" in capsys.readouterr().err
    assert cli.run(["score", str(path), "--out", str(tmp_path / "b"), "--facts", "given"]) == 2
    assert "no input has facts" in capsys.readouterr().err


def test_two_servers_on_one_host_are_two_judges(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 3), tmp_path / "run"
    with Served(reply) as one, Served(reply) as two:
        assert cli.run(["score", str(path), "--out", str(out), *judged(one)]) == 0
        assert cli.run(["score", str(path), "--out", str(out), *judged(two)]) == 2
    assert "verifier.model" in capsys.readouterr().err


def test_an_unfinished_run_says_so(scored, tmp_path, capsys):
    part = tmp_path / "part"
    part.mkdir()
    (part / "run.json").write_bytes((scored / "run.json").read_bytes())
    lines = (scored / "reports.jsonl").read_bytes().splitlines(keepends=True)
    (part / "reports.jsonl").write_bytes(b"".join(lines[:5]))
    assert cli.run(["metrics", str(part)]) == 0
    assert "unfinished: 5 of 15" in capsys.readouterr().out


def test_sentences_that_are_not_english_are_counted(tmp_path, capsys):
    path = tmp_path / "de.jsonl"
    text = "Die Mühle wurde 1890 eröffnet und steht am Fluss."
    path.write_text(json.dumps({"text": text, "reference": text}) + "\n", encoding="utf-8")
    assert cli.run(["score", str(path), "--out", str(tmp_path / "run")]) == 0
    assert "1 sentences are not English" in capsys.readouterr().out


def test_max_cost_stops_before_it_is_exceeded(tmp_path, monkeypatch, capsys):
    path, out = items(tmp_path / "items.jsonl", 30), tmp_path / "run"
    with Served(reply) as server:
        own = tmp_path / "providers.toml"
        own.write_text(
            f'[mine]\nbase_url = "{server.url}"\nkey = ["MINE"]\n[mine.models.m]\nprice_in = 10.0\nprice_out = 10.0\n',
            encoding="utf-8",
        )
        monkeypatch.setenv("VERIDICAL_PROVIDERS", str(own))
        monkeypatch.setenv("MINE", "key")
        arguments = ["score", str(path), "--out", str(out), "--judge", "mine/m", "--read", "text", "--max-cost", "0.5"]
        assert cli.run(arguments) == 3
        assert "0.5" in capsys.readouterr().err
        assert cli.run(["cache", "stats", str(out), "--json"]) == 0
        (stats,) = json.loads(capsys.readouterr().out)
        assert 0 < stats["cost"] <= 0.5 and stats["calls"] == len(server.requests)


def test_estimate_is_close_to_what_the_run_then_asks(tmp_path, capsys):
    path, out = items(tmp_path / "items.jsonl", 10), tmp_path / "run"
    with Served(reply) as server:
        assert cli.run(["estimate", str(path), "--judge", f"{server.url}#m", "--json"]) == 0
        estimate = json.loads(capsys.readouterr().out)
        assert server.requests == [] and estimate["generations"] == 10
        assert cli.run(["score", str(path), "--out", str(out), *judged(server)]) == 0
        reports = [json.loads(line) for line in (out / "reports.jsonl").read_text(encoding="utf-8").splitlines()]
    decomposing = sum(len(report["sentences"]) for report in reports)
    assert estimate["calls"] == decomposing + estimate["facts"]
    assert 0.6 < estimate["facts"] / sum(len(report["facts"]) for report in reports) < 1.7
    assert 0.5 < estimate["prompt_tokens"] / sum(report["usage"]["prompt_tokens"] for report in reports) < 2


def test_compare_of_two_runs(tmp_path, capsys):
    path = items(tmp_path / "items.jsonl", 8)
    with (
        Served(reply) as one,
        Served(lambda request: reply(request) if "split" in request.body.decode() else "True") as two,
    ):
        for name, server in (("a", one), ("b", two)):
            assert cli.run(["score", str(path), "--out", str(tmp_path / name), *judged(server)]) == 0
    capsys.readouterr()
    assert cli.run(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n"] == 8 and result["systems"][0]["name"] == "b"


def test_f48_stdin_stdout_and_no_terminal(kb, tmp_path):
    command = [sys.executable, "-m", "veridical", "score", "-", "--knowledge", str(kb), "--out", str(tmp_path / "r")]
    text = (EXAMPLES / "generations.jsonl").read_text(encoding="utf-8").splitlines()[11]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "COLUMNS": "20"}
    done = subprocess.run(command, input=text.encode(), capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert "1 of 1" in done.stdout.decode("utf-8")
    assert "Faxaflói" in (tmp_path / "r" / "reports.jsonl").read_text(encoding="utf-8")


def started(server, tmp_path, ignored=()):
    """A run in a process of its own, in which these signals are ignored from the start and no others."""

    def signals():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    path = items(tmp_path / "items.jsonl", 400)  # more than are answered before the signal
    command = [sys.executable, "-m", "veridical", "score", str(path), "--out", str(tmp_path / "r"), *judged(server)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=signals)
    while len(server.requests) < 5:
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_stop_is_met_at_once_with_status_3(tmp_path, number):
    with Served(lambda request: reply(request, delay=0.2)) as server:
        process = started(server, tmp_path)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 3 and b"Traceback" not in err and b"goes on where it stopped" in err


def test_a_command_that_keeps_nothing_does_not_promise_to_go_on():
    with Served(lambda request: reply(request, delay=20)) as server:
        command = [sys.executable, "-m", "veridical", "check", "The mill opened in 1890.", "--reference", "No."]
        process = subprocess.Popen([*command, *judged(server)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not server.requests:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 3 and err.strip().endswith(b"veridical: stopped")


def test_a_background_job_of_a_script_ends_by_sigterm_and_under_nohup_outlives_the_terminal(tmp_path):
    with Served(lambda request: reply(request, delay=0.2)) as server:
        process = started(server, tmp_path, ignored=(signal.SIGINT, signal.SIGHUP))
        process.send_signal(signal.SIGHUP)
        before = len(server.requests)
        while len(server.requests) < before + 20:  # it goes on
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 3 and b"goes on where it stopped" in err


def test_models_probe_of_a_dead_server_says_so(capsys):
    assert cli.run(["models", "probe", "http://127.0.0.1:9/v1#m"]) == 1
    assert "no" in capsys.readouterr().out


def test_models_probe_of_a_live_one(capsys):
    with Served(chat("True")) as server:
        assert cli.run(["models", "probe", f"{server.url}#m", "--most-words", "500", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["chat"] and found["logprobs"] == 0 and any("--read text" in note for note in found["notes"])
