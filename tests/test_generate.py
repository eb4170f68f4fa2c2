"""Answers of a model to a prompt set: order, marks, failures that are asked again, kill and resume, the command."""

import asyncio
import json
import random
import sqlite3
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Loopback, chat, error, usage
from veridical import cli
from veridical.benchmarks.prompt_sets import Prompt, prompt_set
from veridical.errors import BudgetSpent, FatalError, InputError, ModelError, UsageError
from veridical.generate import Line, Writer, generate, lines, postamble, summarise
from veridical.inputs import read
from veridical.models.base import ChatReply
from veridical.models.bill import Price
from veridical.models.metered import Budget, Paid
from veridical.models.scripted import Scripted

PROMPTS = [
    Prompt(id=f"p{n}", prompt=f"Tell me about mill {n}.", topic=f"Mill {n}", metadata={"n": n}) for n in range(6)
]


def echo(request):
    return f"Answer to: {request.messages[-1].content}"


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


async def made(out, answer=echo, prompts=PROMPTS, **settings):
    model = Scripted(answer)
    await generate(prompts, Writer(model=model, **settings), out, in_flight=3)
    return model


# --- what a line is


async def test_lines_are_generations_in_the_order_of_the_prompts(tmp_path):
    out = tmp_path / "out.jsonl"

    class Slow(Scripted):
        async def chat(self, request):
            await asyncio.sleep(random.Random(request.messages[-1].content).random() * 0.02)
            return await super().chat(request)

    await generate(PROMPTS, Writer(model=Slow(echo)), out, system="mine", in_flight=4)
    found = list(read(str(out)))
    assert [one.id for one in found] == [one.id for one in PROMPTS]
    assert found[2].text == "Answer to: Tell me about mill 2." and found[2].prompt == "Tell me about mill 2."
    assert found[2].system == "mine" and found[2].topic == "Mill 2"
    marks = found[2].metadata
    assert marks["n"] == 2 and marks["finish_reason"] == "stop" and marks["cost"] == 0
    assert marks["usage"] == {"calls": 1, "prompt_tokens": 5, "completion_tokens": 7}


async def test_what_is_asked(tmp_path):
    model = await made(
        tmp_path / "a",
        postamble="In depth.",
        system_prompt="Be brief.",
        max_tokens=9,
        temperature=0.5,
        prompts=PROMPTS[:1],
    )
    (request,) = model.seen
    assert [(m.role, m.content) for m in request.messages] == [
        ("system", "Be brief."),
        ("user", "Tell me about mill 0. In depth."),
    ]
    assert (request.max_tokens, request.temperature, request.sample) == (9, 0.5, 0)
    assert next(lines(tmp_path / "a")).prompt == "Tell me about mill 0."


def test_the_sentence_after_a_prompt():
    assert postamble("auto", detailed=False) == postamble("none", detailed=True) == ""
    assert postamble("auto", detailed=True) == postamble("detailed", detailed=False)
    assert postamble("mine", detailed=True) == "mine"
    assert "Provide as many specific details" not in postamble("detailed", detailed=True)  # the wording is ours


async def test_truncated_and_refused_answers_are_marked(tmp_path):
    replies = [
        ChatReply(text="It began in", finish_reason="length", completion_tokens=3),
        "I'm sorry, but I could not find any information about this mill.",
        "Mill 2 opened in 1802.",
    ]
    out = tmp_path / "out"
    await generate(PROMPTS[:3], Writer(model=Scripted(replies)), out, in_flight=1)
    cut, refused, plain = lines(out)
    assert cut.metadata["truncated"] is True and cut.metadata["finish_reason"] == "length"
    assert "refused" in refused.metadata and not {"refused", "truncated"} & plain.metadata.keys()
    summary = summarise(out)
    assert (summary.answered, summary.truncated, summary.refused, summary.failed) == (3, 1, 1, 0)


async def test_samples_are_further_answers_for_self_check(tmp_path):
    out = tmp_path / "out"
    model = await made(out, lambda request: f"answer {request.sample} at {request.temperature}", samples=2)
    assert len(model.seen) == 18
    found = list(read(str(out)))
    assert found[0].text == "answer 0 at 0.0" and found[0].samples == ("answer 1 at 1.0", "answer 2 at 1.0")
    assert found[0].metadata["usage"]["calls"] == 3
    with pytest.raises(UsageError, match="temperature"):
        Writer(model=model, samples=1, sample_temperature=0)


# --- failures


async def test_a_failed_prompt_keeps_its_place_and_is_asked_again(tmp_path):
    out = tmp_path / "out"
    down = {"Tell me about mill 1.", "Tell me about mill 4."}

    def answer(request):
        return ModelError("filtered") if request.messages[-1].content in down else echo(request)

    await made(out, answer)
    assert [bool(line.failure) for line in lines(out)] == [False, True, False, False, True, False]
    failed = list(lines(out))[1]
    assert failed.text is None and failed.failure.message == "filtered" and failed.metadata == {"n": 1}
    assert summarise(out).failed == 2
    with pytest.raises(InputError, match=r"out:2.*text"):
        list(read(str(out)))
    assert len(list(read(str(out), on_error="skip"))) == 4

    down.remove("Tell me about mill 4.")
    model = await made(out, answer)
    assert len(model.seen) == 2
    assert [bool(line.failure) for line in lines(out)] == [False, True, False, False, False, False]
    down.clear()
    model = await made(out, answer)
    assert len(model.seen) == 1
    await made(tmp_path / "undisturbed")
    assert out.read_bytes() == (tmp_path / "undisturbed").read_bytes()
    assert (await made(out)).seen == []


async def test_a_stop_while_failed_ones_are_asked_again_loses_nothing(tmp_path):
    out = tmp_path / "out"
    await made(out, lambda request: ModelError("busy"))
    before = out.read_bytes()
    with pytest.raises(FatalError):
        await made(out, lambda request: FatalError("quota"))
    assert out.read_bytes() == before
    await made(out)
    assert summarise(out).failed == 0


async def test_a_fatal_error_stops_after_what_is_whole(tmp_path):
    out = tmp_path / "out"
    answers = [*("one", "two", "three"), FatalError("quota spent")]
    with pytest.raises(FatalError, match="quota"):
        await generate(PROMPTS, Writer(model=Scripted(answers)), out, in_flight=1)
    assert [line.text for line in lines(out)] == ["one", "two", "three"]
    assert len((await made(out)).seen) == 3
    assert [line.id for line in lines(out)] == [one.id for one in PROMPTS]


# --- resume


@pytest.mark.parametrize("cut", [1, 2, 60, 200])
async def test_f50_a_torn_last_line_is_cut_and_done_again(tmp_path, cut):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    await made(whole)
    torn.write_bytes(whole.read_bytes()[:-cut])
    model = await made(torn)
    assert torn.read_bytes() == whole.read_bytes()
    assert len(model.seen) == (0 if cut == 1 else 1)


async def test_f50_any_cut_is_made_whole(tmp_path):
    whole = tmp_path / "whole"
    await made(whole)
    content = whole.read_bytes()
    for length in range(0, len(content), 97):
        torn = tmp_path / "torn"
        torn.write_bytes(content[:length])
        await made(torn)
        assert torn.read_bytes() == content


async def test_more_prompts_go_on_and_fewer_change_nothing(tmp_path):
    out = tmp_path / "out"
    await made(out, prompts=PROMPTS[:2])
    assert len((await made(out)).seen) == 4
    content = out.read_bytes()
    assert (await made(out, prompts=PROMPTS[:1])).seen == [] and out.read_bytes() == content
    with pytest.raises(UsageError, match="'p0', not of 'p1'"):
        await made(out, prompts=PROMPTS[1:])


async def test_fewer_prompts_keep_the_failed_rest(tmp_path):
    out = tmp_path / "out"
    await made(out, lambda request: ModelError("busy"))
    assert len((await made(out, prompts=PROMPTS[:2])).seen) == 2
    assert [bool(line.failure) for line in lines(out)] == [False] * 2 + [True] * 4


async def test_memory_is_bounded_by_what_is_in_flight(tmp_path):
    ahead, counted = [], []

    class Counting:
        def __iter__(self):
            for n in range(300):
                counted.append(n)
                yield Prompt(id=f"{n}", prompt="?")

    def on_line(line):
        ahead.append(len(counted) - int(line.id))

    writer = Writer(model=Scripted("!", delay=0.0001))
    await generate(Counting(), writer, tmp_path / "out", in_flight=2, on_line=on_line)
    assert max(ahead) <= 4 * 2 + 2


async def test_a_spent_budget_stops_and_keeps_what_was_paid(tmp_path):
    out, price = tmp_path / "out", Price(prompt=0.0, completion=1.0)
    replies = [ChatReply(text=f"answer {n}", completion_tokens=100, cost=1e-4) for n in range(6)]
    # each call may cost 0.0001 for the answer and more for a second try: the fourth does not fit
    worst = price.worst(Writer(model=Scripted(""), max_tokens=100).request("?"))
    model = Paid(Scripted(replies), Budget(max_cost=worst + 2.5e-4), price)
    with pytest.raises(BudgetSpent):
        await generate(PROMPTS, Writer(model=model, max_tokens=100), out, in_flight=1)
    summary = summarise(out)
    assert summary.answered == 3 and summary.cost == pytest.approx(3e-4)
    assert len((await made(out)).seen) == 3


@given(st.text(), st.text())
def test_any_answer_fits_on_one_line(text, prompt):
    from veridical.generate import encoded

    line = encoded(Line(id="1", text=text, prompt=prompt))
    assert line.count(b"\n") == 1
    assert msgspec.json.decode(line, type=Line).text == text


# --- prompt sets of files


def test_prompts_of_files(tmp_path):
    rows = [
        {"id": 7, "question": "Who?", "topic": "A", "reference": "R", "year": 1802, "metadata": {"cell": "rare"}},
        {"prompt": "What?", "output": "an old answer", "model": "old"},
    ]
    first, second = prompt_set(written(tmp_path / "in.jsonl", rows))
    assert first == Prompt(id="7", prompt="Who?", topic="A", reference="R", metadata={"year": 1802, "cell": "rare"})
    assert second == Prompt(id="000002", prompt="What?")
    (tmp_path / "in.csv").write_text("id,prompt,topic\n1,Who?,A\n2,What?,\n", encoding="utf-8")
    assert [(one.id, one.topic) for one in prompt_set(str(tmp_path / "in.csv"))] == [("1", "A"), ("2", None)]
    (tmp_path / "in.txt").write_text("\ufeffWho?\n\n  What?\n", encoding="utf-8")
    assert [(one.id, one.prompt) for one in prompt_set(str(tmp_path / "in.txt"))] == [
        ("000001", "Who?"),
        ("000002", "What?"),
    ]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"text": "no prompt"}], "prompt"),
        ([{"prompt": 3}], "not a string"),
        ([{"prompt": " "}], "blank"),
        ([{"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"}], "line 1"),
        (["x"], "not an object"),
        ([{"prompt": "Who is \ud83d?"}], "surrogates"),
    ],
)
def test_unusable_prompts_are_named(tmp_path, rows, words):
    with pytest.raises(InputError, match=words) as caught:
        list(prompt_set(written(tmp_path / "in.jsonl", rows)))
    assert "in.jsonl:" in str(caught.value)


def test_biographies_of_names(tmp_path):
    (tmp_path / "names.txt").write_text("Ada Lovelace\n", encoding="utf-8")
    (one,) = prompt_set(f"biographies@{tmp_path / 'names.txt'}")
    assert one.prompt == "Question: Tell me a bio of Ada Lovelace." and one.topic == "Ada Lovelace"
    (one,) = prompt_set(f"biographies@{written(tmp_path / 'people.jsonl', [{'name': 'Ada Lovelace', 'views': 3}])}")
    assert one.prompt == "Question: Tell me a bio of Ada Lovelace." and one.metadata["views"] == 3


def test_the_published_people_are_read_where_they_lie(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="veridical data fetch factscore"):
        prompt_set("biographies")


@pytest.mark.parametrize("spec", ["nothing", "longfact:things", "longfact:objects:many", "no/such.jsonl"])
def test_an_unknown_set_is_refused(spec):
    with pytest.raises(UsageError, match="no prompt set"):
        prompt_set(spec)


# --- the command


def command(*arguments):
    return cli.run(["generate", *map(str, arguments)])


async def in_thread(*arguments):
    return await asyncio.to_thread(command, *arguments)


@pytest.fixture
def asked(tmp_path):
    return written(tmp_path / "in.jsonl", [{"id": one.id, "prompt": one.prompt, "topic": one.topic} for one in PROMPTS])


async def test_the_command_answers_and_repeats_nothing(tmp_path, asked, capsys):
    out = tmp_path / "out.jsonl"
    async with Loopback(chat("Mill stories.", finish_reason="length") | usage(12, 5)) as server:
        options = ["--model", f"{server.url}#m", "--out", out, "--json"]
        assert await in_thread(asked, *options, "--first", 2) == 0
        assert json.loads(capsys.readouterr().out)["prompts"] == 2
        assert await in_thread(asked, *options, "--max-tokens", "1024") == 0
        assert len(server.requests) == 6
        assert await in_thread(asked, *options) == 0
        assert await in_thread(asked, *options, "--fresh") == 0
        assert len(server.requests) == 6, "cut answers are in the cache too"
        found = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert found["truncated"] == 6 and found["completion_tokens"] == 30
        assert await in_thread(asked, *options, "--temperature", "0.7") == 2
        assert "temperature: 0.0 then, 0.7 now" in capsys.readouterr().err
        assert server.bodies[0]["max_tokens"] == 1024 and server.bodies[0]["temperature"] == 0
    assert next(iter(read(str(out)))).system == f"127.0.0.1:{server.port}/m"


async def test_the_command_says_what_failed(tmp_path, asked, capsys):
    out = tmp_path / "out.jsonl"

    def handler(request):
        return error(400, "content policy") if "mill 3" in request.prompt and down else "Fine."

    down = True
    async with Loopback(handler) as server:
        assert await in_thread(asked, "--model", f"{server.url}#m", "--out", out) == 1
        captured = capsys.readouterr()
        assert "5 of 6 prompts answered, 1 failed" in captured.out
        assert "1 prompt failed (" in captured.err and "content policy" in captured.err and "asks again" in captured.err
        down = False
        assert await in_thread(asked, "--model", f"{server.url}#m", "--out", out) == 0
        assert len(server.requests) == 7


async def test_a_bad_key_stops_and_the_same_command_goes_on(tmp_path, asked, capsys):
    out = tmp_path / "out.jsonl"
    async with Loopback(lambda request: error(401, "bad key") if down else "Fine.") as server:
        down = True
        assert await in_thread(asked, "--model", f"{server.url}#m", "--out", out) == 3
        assert "goes on where it stopped" in capsys.readouterr().err
        down = False
        assert await in_thread(asked, "--model", f"{server.url}#m", "--out", out) == 0
    assert summarise(out).answered == 6


async def test_usage_errors_are_one_line(tmp_path, asked, capsys):
    other = tmp_path / "mine.jsonl"
    other.write_text("{}\n")
    where = ["--model", "http://127.0.0.1:9/v1#m"]
    for arguments in (
        ["nothing", *where, "--out", tmp_path / "o"],
        [asked, *where, "--out", asked],
        [asked, *where, "--out", tmp_path],
        [asked, *where, "--out", other],
        [asked, *where, "--out", tmp_path / "o", "--first", 1, "--sample", 1],
    ):
        assert await in_thread(*arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert other.read_text() == "{}\n"


async def test_a_sample_is_the_same_each_time(tmp_path, asked):
    async with Loopback("Fine.") as server:
        for name in ("a", "b"):
            out = tmp_path / name
            assert await in_thread(asked, "--model", f"{server.url}#m", "--out", out, "--sample", 3, "--seed", 4) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert len(list(lines(tmp_path / "a"))) == 3


async def test_f50_f53_kills_repeat_nothing_that_was_stored(tmp_path):
    """Kill -9 at random: replies in the cache are not asked for again, and the file is that of an undisturbed run."""
    prompts = written(tmp_path / "in.jsonl", [{"id": f"p{n}", "prompt": f"Tell me of mill {n}."} for n in range(60)])
    out, on_disk, repeated, chance = tmp_path / "out.jsonl", set(), [], random.Random(3)

    async def handler(request):
        if request.prompt in on_disk:
            repeated.append(request.prompt)
        await asyncio.sleep(0.005)
        return f"About {request.prompt}"

    def stored():
        path = tmp_path / "out.jsonl.run" / "calls.sqlite"
        try:
            with sqlite3.connect(path) as db:
                rows = db.execute("select request from calls").fetchall()
        except sqlite3.OperationalError:
            return set()
        return {json.loads(row[0])["messages"][-1]["content"] for row in rows}

    async with Loopback(handler) as server:

        async def start(place):
            words = [prompts, "--model", f"{server.url}#m", "--out", str(place), "--concurrency", "4", "--json"]
            pipe = asyncio.subprocess.DEVNULL
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "veridical", "generate", *words), stdout=pipe, stderr=pipe
            )

        for _ in range(2):
            until = len(server.requests) + chance.randint(3, 14)
            process = await start(out)
            while len(server.requests) < until and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            process.kill()
            await process.wait()
            on_disk |= stored()
        for place in (out, tmp_path / "undisturbed.jsonl"):
            process = await start(place)
            assert await process.wait() == 0
            on_disk = set()
    assert repeated == []
    assert out.read_bytes() == (tmp_path / "undisturbed.jsonl").read_bytes()
