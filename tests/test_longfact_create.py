"""New LongFact-style prompts: what is asked, how replies are read, bounds, kill and resume, likeness, files."""

import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import Loopback, chat, error
from packaged import minilm
from script import cut
from veridical import cli
from veridical.benchmarks.longfact import load
from veridical.benchmarks.longfact_choose import choose, distinct
from veridical.benchmarks.longfact_create import Creator, Seeds, bracketed, draw, draw_all, topics_of, write
from veridical.benchmarks.longfact_topics import TOPICS
from veridical.errors import FatalError, InputError, ModelError, UsageError
from veridical.models.encoders import STEncoder
from veridical.models.scripted import Scripted

NAMES = [
    "alder",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "juniper",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "spruce",
    "willow",
    "yew",
]


def writer(request):
    """A new prompt for each call."""
    return f"[What is the {NAMES[request.sample % len(NAMES)]} of place {request.sample}?]"


async def drawn(tmp_path, answer=writer, topic="biology", task="objects", **settings):
    model = Scripted(answer)
    made = await draw(topic, Creator(model=model, task=task), tmp_path / "progress.jsonl", **settings)
    return made, model


# --- what is asked


@pytest.mark.parametrize("task", ["objects", "concepts"])
async def test_f53_ten_exemplars_of_which_ours_are_displaced_by_drawn_ones(tmp_path, task):
    made, model = await drawn(tmp_path, task=task, draws=12)
    assert len(made.prompts) == 12
    seeds = [one.prompt for one in Seeds.load(task).items]
    asked = [request.messages[-1].content for request in model.seen]
    for number, text in enumerate(asked):
        shown = re.findall(r"^PROMPT: \[(.+)\]$", text, re.MULTILINE)
        assert shown == [*seeds, *made.prompts[:number]][-10:]
        assert text.endswith("TOPIC: BIOLOGY\nPROMPT: [")
    first = model.seen[0]
    assert (first.temperature, first.max_tokens) == (1.0, 128)
    assert len({request.sample for request in model.seen}) == 12, "no draw is answered by another's reply in the cache"


def test_seeds_are_two_of_each_kind():
    for task in ("objects", "concepts"):
        topics = [one.topic for one in Seeds.load(task).items]
        assert {topic: topics.count(topic) for topic in topics} == dict.fromkeys(
            ("people", "events", "companies", "cities", "animals"), 2
        )


def test_moral_disputes_have_instructions_of_their_own():
    creator = Creator(model=Scripted(""))
    special = creator.request("moral disputes", (), 0).messages[0].content
    assert "Tuskegee" in special and "Tuskegee" not in creator.request("biology", (), 0).messages[0].content
    concepts = Creator(model=Scripted(""), task="concepts")
    assert "Tuskegee" not in concepts.request("moral disputes", (), 0).messages[0].content
    with pytest.raises(UsageError, match="concepts and objects"):
        Creator(model=Scripted(""), task="people")


# --- what is read


@pytest.mark.parametrize(
    ("reply", "prompt"),
    [
        ("[Who is Ada?]", "Who is Ada?"),
        ("Who is Ada?]", "Who is Ada?"),
        ("Sure, here it is:\n[Who is\n  Ada?]\n[Who is Bo?]", "Who is Ada?"),
        ("TOPIC: BIOLOGY\nPROMPT: [Who is Ada?]", "Who is Ada?"),
        ("[] [Who is Ada?]", "Who is Ada?"),
        ("[What is ATP [adenosine triphosphate]?]", "What is ATP (adenosine triphosphate)?"),
        ('["Who is Ada?"]', "Who is Ada?"),
        ("Who is Ada?", None),
        ("[Who is Ada", None),
        ("[]", None),
        ("[Prompt]", None),
        ("][", None),
        ("", None),
        ("[" + "very " * 300 + "long]", None),
    ],
)
def test_the_first_brackets_are_the_prompt(reply, prompt):
    assert bracketed(reply) == prompt


@given(st.text(alphabet='[]a b\n?"', max_size=60))
def test_any_reply_is_read_or_refused(reply):
    found = bracketed(reply)
    assert found is None or (not set("[]\n") & set(found) and found == " ".join(found.split()))


@given(
    st.lists(st.text(alphabet="abcäß?'", min_size=1, max_size=8), min_size=2, max_size=9), st.text(alphabet="ab .\n")
)
def test_what_stands_in_brackets_comes_back(words, around):
    text = " ".join(words)
    expected = text if any(map(str.isalpha, text)) else None
    assert bracketed(f"{around}[{text}]{around}") == expected


# --- bounds


async def test_tries_are_bounded_and_counted(tmp_path):
    answers = ["no brackets", "[Who is Ada?]", "[Who is Ada?]", cut("[Who is"), ModelError("filtered"), "[Who is Bo?]"]
    made, model = await drawn(tmp_path, answers, draws=3, tries=6)
    assert made.prompts == ("Who is Ada?", "Who is Bo?")
    assert (made.calls, made.unreadable, made.repeated, made.failed) == (6, 2, 1, 1)
    made, model = await drawn(tmp_path, "always the same", draws=3)
    assert len(model.seen) == 9, "three calls a draw, and no more"
    assert made.prompts == ("Who is Ada?", "Who is Bo?") and made.calls == 15


# --- kill and resume


async def test_f50_a_fatal_error_loses_nothing(tmp_path):
    whole, _ = await drawn(tmp_path / "whole", draws=8)

    def until(request):
        return FatalError("quota") if request.sample == 5 else writer(request)

    with pytest.raises(FatalError):
        await drawn(tmp_path / "stopped", until, draws=8)
    resumed, model = await drawn(tmp_path / "stopped", draws=8)
    assert resumed == whole and len(model.seen) == 3


async def test_f50_f53_any_cut_of_the_progress_is_made_whole(tmp_path):
    whole, _ = await drawn(tmp_path, lambda request: "?" if request.sample % 3 == 1 else writer(request), draws=5)
    content = (tmp_path / "progress.jsonl").read_bytes()
    for length in range(0, len(content), 11):
        (tmp_path / "progress.jsonl").write_bytes(content[:length])
        again, _ = await drawn(tmp_path, lambda request: "?" if request.sample % 3 == 1 else writer(request), draws=5)
        assert again == whole and (tmp_path / "progress.jsonl").read_bytes() == content


async def test_a_damaged_progress_file_is_named(tmp_path):
    (tmp_path / "progress.jsonl").write_text("nonsense\n")
    with pytest.raises(InputError, match=r"progress\.jsonl:1.*--fresh"):
        await drawn(tmp_path)


async def test_more_draws_go_on(tmp_path):
    few, _ = await drawn(tmp_path, draws=3)
    more, model = await drawn(tmp_path, draws=5)
    assert more.prompts[:3] == few.prompts and len(model.seen) == 2
    assert (await drawn(tmp_path, draws=3))[0].prompts == few.prompts


async def test_f53_topics_do_not_depend_on_each_other(tmp_path):
    creator = Creator(model=Scripted(writer))
    one = await draw_all(["physics", "biology"], creator, tmp_path / "a", draws=4, in_flight=1)
    other = await draw_all(["biology", "chess", "physics"], creator, tmp_path / "b", draws=4, in_flight=3)
    assert one == [other[2], other[0]]


# --- likeness

SAME = ["Who is Albert Sabin?", "Tell me about Albert Sabin.", "Can you provide information about Albert Sabin?"]
OTHER = [
    "Who is Jonas Salk?",
    "What is the Marburg virus outbreak of 1967?",
    "What is the Marburg virus outbreak of 1998?",
]


def test_words_tell_the_same_question_apart_from_others():
    kept, removed = distinct([SAME[0], OTHER[0], *SAME[1:], *OTHER[1:]])
    assert kept == [SAME[0], *OTHER]
    assert [(one.prompt, one.of) for one in removed] == [(SAME[1], SAME[0]), (SAME[2], SAME[0])]
    assert distinct([]) == ([], [])
    assert distinct(SAME, threshold=1.0)[0] == SAME[:1], "the words that only ask do not count"


def test_an_encoder_tells_the_same_question_apart_from_others():
    encoder = STEncoder(minilm())
    prompts = [SAME[0], OTHER[0], *SAME[1:], *OTHER[1:]]
    assert distinct(prompts, encoder)[0] == [SAME[0], *OTHER]
    assert distinct(prompts, encoder, threshold=1.0)[0] == prompts


@given(st.lists(st.sampled_from([*SAME, *OTHER, "?", "What is it?"]), max_size=12))
def test_what_is_kept_and_removed_is_everything_once(prompts):
    kept, removed = distinct(prompts)
    assert sorted([*kept, *(one.prompt for one in removed)]) == sorted(prompts)
    assert all(one.of in kept for one in removed)
    assert distinct(kept) == (kept, [])


def test_f53_what_is_kept_depends_on_seed_and_topic():
    prompts = [f"Who is number {n}?" for n in range(40)]
    first = choose(prompts, 10, seed=0, topic="biology", task="objects")
    assert len(first) == 10 and first == [prompt for prompt in prompts if prompt in first]
    assert first == choose(prompts, 10, seed=0, topic="biology", task="objects")
    assert first != choose(prompts, 10, seed=1, topic="biology", task="objects")
    assert first != choose(prompts, 10, seed=0, topic="physics", task="objects")
    assert choose(prompts[:3], 10, seed=0, topic="biology", task="objects") == prompts[:3]


# --- topics and files


def test_topics(tmp_path):
    assert topics_of("all") == list(TOPICS)
    assert topics_of("US-foreign-policy, chess,chess") == ["US foreign policy", "chess"]
    (tmp_path / "topics.txt").write_text("\ufeffchess\n\nhip-hop\n", encoding="utf-8")
    assert topics_of(str(tmp_path / "topics.txt")) == ["chess", "hip-hop"]
    for spec in ("", ",", "../up", "a/b", ".hidden", "[x]"):
        with pytest.raises(UsageError, match="topic"):
            topics_of(spec)


async def test_files_are_in_the_published_layout(tmp_path):
    made, _ = await drawn(tmp_path, topic="US foreign policy", draws=6)
    written = write(made, tmp_path, task="objects", per_topic=4)
    assert written.kept == 4 and written.drawn == 6 and written.removed == ()
    found = load(tmp_path, "objects")
    assert found.topics == ("US foreign policy",) and len(found.prompts) == 4 and found.canaries == 0
    line = (tmp_path / "longfact-objects_US-foreign-policy.jsonl").read_text().splitlines()[0]
    assert list(json.loads(line)) == ["prompt"]


async def command(*arguments):
    return await asyncio.to_thread(cli.run, ["longfact", "create", *map(str, arguments)])


async def test_the_command_makes_files_and_goes_on(tmp_path, capsys):
    asked = []

    def handler(request):
        asked.append(request.prompt)
        if len(asked) == 7 and down:
            return error(401, "bad key")
        return chat(f"[What is the {NAMES[len(asked) % 15]} of place {len(asked)}?]", finish_reason="length")

    down = True
    async with Loopback(handler) as server:
        options = [
            "--topics",
            "biology,chess",
            "--model",
            f"{server.url}#m",
            "--out",
            tmp_path / "set",
            "--concurrency",
            1,
        ]
        options += ["--draws", 5, "--per-topic", 3, "--encoder", "words", "--json"]
        assert await command(*options) == 3
        assert "goes on where it stopped" in capsys.readouterr().err
        down = False
        assert await command(*options) == 0
        made = json.loads(capsys.readouterr().out)
        assert [(one["topic"], one["kept"], one["drawn"]) for one in made["topics"]] == [
            ("biology", 3, 5),
            ("chess", 3, 5),
        ]
        assert len(asked) == 11, "one call was refused, none is asked again"
        files = {path.name: path.read_bytes() for path in (tmp_path / "set").glob("*.jsonl")}
        assert await command(*options) == 0 and len(asked) == 11
        assert files == {path.name: path.read_bytes() for path in (tmp_path / "set").glob("*.jsonl")}
        assert await command(*options, "--fresh") == 0 and len(asked) == 11, "the cache has it all"
        assert await command(*options, "--temperature", 0.5) == 2
        capsys.readouterr()
        assert await command(*options[:-1], "--task", "concepts", "--tries", 2) == 1
        captured = capsys.readouterr()
        assert "fewer prompts than wanted for biology, chess" in captured.err and "by common words" in captured.out
    assert len(load(tmp_path / "set", "objects").prompts) == 6


async def test_usage_errors_of_the_command(tmp_path, capsys):
    where = ["--model", "http://127.0.0.1:9/v1#m", "--out", tmp_path / "set"]
    for arguments in (
        ["--topics", "a", *where, "--task", "people"],
        ["--topics", "a/b", *where],
        ["--topics", "a", *where, "--draws", 3],
    ):
        assert await command(*arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1
