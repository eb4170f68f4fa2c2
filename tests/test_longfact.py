"""LongFact's files: what is in them, what is said twice, the paper's subset, whatever the file system's order."""

import json
import random
import shutil
from pathlib import Path

import pytest

from data import shared
from veridical.benchmarks.longfact import CANARY, SUBSET_SHA256, TASKS, digest, load
from veridical.benchmarks.longfact_topics import SUPERCATEGORIES, TOPICS, slug, supercategory, topic_named
from veridical.benchmarks.prompt_sets import prompt_set
from veridical.errors import InputError, UsageError

REPEATED = {"Alexander Fleming", "Jonas Salk", "Edward Jenner", "Florence Nightingale", "Hippocrates", "Paul Ehrlich"}


def small(folder: Path, task="objects", topics=("biology", "US-foreign-policy"), n=3, **more) -> Path:
    """Files of the published shape with prompts of ours."""
    folder.mkdir(parents=True, exist_ok=True)
    for topic in topics:
        rows = [{"prompt": f"What is thing {number} of {topic}?"} | more for number in range(n)]
        file = folder / f"longfact-{task}_{topic}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


# --- as published


def test_f18_the_published_files_and_their_nine_duplicates():
    folder = shared("longfact")
    both = {task: load(folder, task) for task in TASKS}
    prompts = [prompt for one in both.values() for prompt in one.prompts]
    assert len(prompts) == 2280 and len({prompt.prompt for prompt in prompts}) == 2271
    assert all(one.topics == TOPICS and one.canaries == 1140 for one in both.values())
    assert len({prompt.id for prompt in prompts}) == 2280
    assert both["concepts"].repeated == ()
    repeated = both["objects"].repeated
    assert len(repeated) == 9 and all(len(one.ids) == 2 for one in repeated)
    assert len([one for one in repeated if any(name in one.prompt for name in REPEATED)]) == 6
    words = [sum(len(p.prompt.split()) for p in one.prompts) / 1140 for one in both.values()]
    assert words == pytest.approx([39.9, 8.9], abs=0.05)


def test_f18_the_duplicates_are_told():
    folder = shared("longfact")
    (note,) = prompt_set(f"longfact:objects@{folder}").notes
    assert note.startswith("9 prompts stand under two topics: objects/")
    whole = prompt_set(f"longfact:objects@{folder}")
    assert whole.first(5).notes == () == whole.sample(20, 1).notes
    repeated = next(ids for ids in whole.repeated)
    upto = 1 + max(place for place, prompt in enumerate(whole) if prompt.id in repeated)
    (note,) = whole.first(upto).notes
    assert repeated[0] in note and not note.startswith("9")
    assert prompt_set(f"longfact:concepts@{folder}").notes == ()


def test_f19_the_papers_subset_on_any_file_system(tmp_path):
    folder = shared("longfact")
    subset = load(folder, "objects").subset()
    assert len(subset) == 250
    assert subset[0].prompt == "Who is Jacques Derrida?"
    assert subset[-1].prompt == "Can you provide some information about the UN Convention on the Law of the Sea?"
    assert digest(subset) == SUBSET_SHA256 == "591692c6418612a9ef2665ef3ed2515e66bbff8eac46d7aa70c219e967b8eae2"
    files = sorted(folder.glob("*objects*/*.jsonl"))
    random.Random(5).shuffle(files)
    for file in files:  # another order of entries in the folder
        shutil.copy(file, tmp_path)
    assert load(tmp_path, "objects").subset() == subset
    assert [one.id for one in prompt_set(f"longfact:objects:250@{folder}")] == [one.id for one in subset]


def test_one_task_or_the_folder_above():
    folder = shared("longfact")
    (inner,) = folder.glob("*concepts*")
    assert load(inner, "concepts").prompts == load(folder, "concepts").prompts
    with pytest.raises(UsageError, match="longfact-objects_TOPIC"):
        load(inner, "objects")


# --- the reader


def test_ids_topics_and_classes(tmp_path):
    first, *_, last = load(small(tmp_path), "objects").prompts
    assert first.id == "objects/US-foreign-policy/1" and first.topic == "US foreign policy"
    assert first.metadata == {"task": "objects", "supercategory": "social sciences"}
    assert last.id == "objects/biology/3" and last.prompt == "What is thing 2 of biology?"


def test_the_canary_goes_nowhere(tmp_path):
    found = load(small(tmp_path, canary=f"canary GUID {CANARY}"), "objects")
    assert found.canaries == 6
    assert CANARY not in repr(found.prompts)
    assert load(small(tmp_path), "objects").canaries == 0


def test_topics_of_ones_own_are_read(tmp_path):
    (prompt,) = load(small(tmp_path, topics=["hot-air-balloons"], n=1), "objects").prompts
    assert prompt.topic == "hot air balloons" and prompt.metadata == {"task": "objects"}


def test_unusable_files_are_named(tmp_path):
    file = small(tmp_path, n=1) / "longfact-objects_biology.jsonl"
    for content, words in (
        ('{"prompt": "x"}\n{"prompt"', "biology.jsonl:2"),
        ('{"prompt": " "}', "blank"),
        ("[]", "1:"),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=words):
            load(tmp_path, "objects")


def test_folders_that_hold_no_task_or_too_many_are_refused(tmp_path):
    with pytest.raises(UsageError, match="not a folder"):
        load(tmp_path / "none", "objects")
    with pytest.raises(UsageError, match="no file longfact-concepts_TOPIC"):
        load(small(tmp_path / "a"), "concepts")
    small(tmp_path / "b")
    with pytest.raises(UsageError, match="several folders hold objects: a, b"):
        load(tmp_path, "objects")
    with pytest.raises(UsageError, match="tasks"):
        load(tmp_path, "subjects")


def test_a_subset_is_the_beginning_of_a_larger_one(tmp_path):
    found = load(small(tmp_path), "objects")
    assert found.subset(2) == found.subset(6)[:2]
    with pytest.raises(UsageError, match="1 to 6 prompts, not 250"):
        found.subset()


# --- names


def test_the_38_topics():
    assert len(TOPICS) == 38
    assert {name: len(topics) for name, topics in SUPERCATEGORIES.items()} == {
        "STEM": 12,
        "social sciences": 11,
        "humanities": 11,
        "other": 4,
    }
    assert supercategory("virology") == "STEM" and supercategory("chess") is None
    assert topic_named("US-foreign-policy") == topic_named(" us Foreign  policy ") == "US foreign policy"
    assert topic_named("hip-hop") == "hip-hop" and slug("moral disputes") == "moral-disputes"


@pytest.mark.parametrize(("spec", "n"), [("longfact", 12), ("longfact:objects", 6), ("longfact:concepts:4", 4)])
def test_prompt_sets_of_a_folder(tmp_path, spec, n):
    small(tmp_path / "one")
    small(tmp_path / "two", task="concepts")
    found = prompt_set(f"{spec}@{tmp_path}")
    assert len(list(found)) == n and found.detailed and len({one.id for one in found}) == n


def test_longfact_is_found_where_it_was_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIDICAL_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="veridical data fetch longfact"):
        prompt_set("longfact:objects")
    shutil.copytree(shared("longfact"), tmp_path / "data" / "longfact")
    assert len(list(prompt_set("longfact:objects:250"))) == 250
