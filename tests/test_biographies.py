"""FActScore's biographies: tables of people, the 20 cells, the draw, the prompts, the command."""

import csv
import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import shared
from veridical import cli
from veridical.benchmarks import (
    BOUNDS,
    LEVELS,
    QUESTION,
    REGIONS,
    Entities,
    Entity,
    countries,
    draw,
    level,
    names,
    prompts,
    region,
)
from veridical.benchmarks import biographies as module
from veridical.benchmarks.regions import _key, _lines
from veridical.errors import InputError, UsageError
from veridical.inputs import read
from veridical.text.normal import fold

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "entities.jsonl"
HOME = dict(zip(REGIONS, ("Canada", "Norway", "Japan", "Kenya"), strict=True))
VALUES = (50, 500, 5_000, 50_000, 500_000)


def people(per_cell, *, prefix="P"):
    """`per_cell` people in each of the 20 cells."""
    return [
        Entity(name=f"{prefix} {low} {where} {number}", views=VALUES[low], nationality=(HOME[where],))
        for low in range(5)
        for where in REGIONS
        for number in range(per_cell)
    ]


def cells(result):
    return Counter((drawn.frequency, drawn.region) for drawn in result.entities)


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- levels


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (0, "very rare"),
        (99.9, "very rare"),
        (100, "rare"),
        (999, "rare"),
        (1000, "medium"),
        (9999, "medium"),
        (10_000, "freq"),
        (99_999, "freq"),
        (100_000, "very freq"),
        (10**12, "very freq"),
    ],
)
def test_levels_begin_at_their_bounds(value, name):
    assert level(value) == name


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_frequent_is_never_a_rarer_level(one, two):
    low, high = sorted((one, two))
    assert LEVELS.index(level(low)) <= LEVELS.index(level(high))


@given(st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e9))
def test_the_value_is_the_larger_count(occurrences, views):
    value = Entity(name="x", occurrences=occurrences, views=views).value
    assert value == max(occurrences or 0, views or 0)


@pytest.mark.parametrize("bounds", [(1, 2, 3), (1, 2, 2, 3), (0, 1, 2, 3), (1, 2, 3, float("nan")), (4, 3, 2, 1)])
def test_bounds_must_rise(bounds):
    with pytest.raises(UsageError, match="rising"):
        draw(people(1), 5, bounds=bounds)


def test_other_bounds_part_other_levels():
    [drawn] = draw([Entity(name="x", views=50, nationality=("Japan",))], 20, bounds=(10, 20, 30, 40)).entities
    assert drawn.frequency == "very freq"


# --- regions


def test_every_name_of_the_table_has_its_region():
    found = {name: region(name) for _, names_ in _lines() for name in names_}
    assert found == {name: where for where, names_ in _lines() for name in names_}
    assert set(found.values()) == set(REGIONS)
    assert len(countries()) > 230


def test_no_name_is_in_the_table_twice():
    keys = Counter(_key(name) for _, names_ in _lines() for name in names_)
    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize(
    ("nationality", "where"),
    [
        ("United States of America", "North America"),
        ("the United States", "North America"),
        ("american", "North America"),
        ("MEXICO", "Latin America/Africa"),
        ("Puerto Rico", "Latin America/Africa"),
        ("Egypt", "Latin America/Africa"),
        ("Jamaica", "Latin America/Africa"),
        ("Cote d’Ivoire", "Latin America/Africa"),
        ("Iran", "Europe/Middle East"),
        ("Soviet Union", "Europe/Middle East"),
        ("United Kingdom of Great Britain and Ireland", "Europe/Middle East"),
        ("Kingdom of Serbs, Croats and Slovenes", "Europe/Middle East"),
        ("Türkiye", "Europe/Middle East"),
        ("People's Republic of China", "Asia/Pacific"),
        ("New Zealand", "Asia/Pacific"),
        ("South Korea", "Asia/Pacific"),
        ("Atlantis", None),
        ("", None),
        (None, None),
        (("Atlantis", "Japan"), "Asia/Pacific"),
        ("Atlantis | Japan; Kenya", "Asia/Pacific"),
    ],
)
def test_regions(nationality, where):
    assert region(nationality) == where


@given(st.text())
def test_any_text_has_a_region_or_none(text):
    assert region(text) in (*REGIONS, None)


# --- the draw


def test_a_draw_is_uniform_over_the_cells():
    result = draw(people(30), 200)
    assert set(cells(result).values()) == {10}
    assert len(cells(result)) == 20
    assert (result.short, result.people, result.ambiguous, result.duplicates) == (0, 600, 0, 0)


def test_what_does_not_divide_goes_to_cells_at_random():
    result = draw(people(30), 183)
    assert sorted(Counter(cells(result).values()).items()) == [(9, 17), (10, 3)]
    assert [cell.drawn for cell in draw(people(30), 183, seed=1).cells] != [cell.drawn for cell in result.cells]


def test_within_a_cell_everyone_is_as_likely():
    table = [Entity(name=f"N{number}", views=5, nationality=("Kenya",)) for number in range(40)]
    counts = Counter(drawn.entity.name for seed in range(200) for drawn in draw(table, 200, seed=seed).entities)
    assert len(counts) == 40
    assert all(23 < count < 82 for count in counts.values())  # 50 expected, standard deviation 6.1


def test_the_same_seed_draws_the_same_people_in_any_order_of_rows():
    table = people(30)
    shuffled = random.Random(3).sample(table, len(table))
    assert draw(table, 100).entities == draw(table, 100).entities == draw(shuffled, 100).entities
    assert draw(table, 100).entities != draw(table, 100, seed=1).entities


def test_the_order_of_a_draw_mixes_the_cells():
    first = Counter(drawn.frequency for drawn in draw(people(30), 200).entities[:60])
    assert len(first) == 5


def test_all_are_drawn_where_there_are_few():
    table = people(2)
    result = draw(table, 500)
    assert {drawn.entity.name for drawn in result.entities} == {person.name for person in table}
    assert result.short == 460
    assert {cell.available for cell in result.cells} == {2}


def test_a_short_cell_is_reported_and_left_short():
    table = [person for person in people(10) if person.views != 50 or "Norway" not in person.nationality]
    result = draw(table, 100)
    assert (len(result.entities), result.short) == (95, 5)
    [short] = [cell for cell in result.cells if cell.drawn < cell.wanted]
    assert (short.frequency, short.region, short.available, short.drawn) == ("very rare", "Europe/Middle East", 0, 0)


def test_a_short_cell_is_filled_from_the_nearest_level_of_its_region():
    table = [person for person in people(10) if person.views != 50 or "Norway" not in person.nationality]
    result = draw(table, 100, fill="neighbours")
    assert result.short == 0
    assert cells(result)["rare", "Europe/Middle East"] == 10
    far = draw(table, 180, fill="neighbours")  # 9 of 10 are taken in each: one a level, then other regions
    assert far.short == 0
    assert all(cells(far)[name, "Europe/Middle East"] == 10 for name in LEVELS[1:])
    assert draw(people(1), 50, fill="neighbours").short == 30


def test_a_name_of_several_people_is_left_out_wherever_they_stand():
    table = people(3)
    twin = Entity(name=table[0].name.upper(), views=5_000, nationality=("Japan",))
    result = draw([*table, twin], 100)
    assert table[0].key not in {drawn.entity.key for drawn in result.entities}
    assert (result.ambiguous, result.duplicates, len(result.entities)) == (1, 0, 59)
    assert result.cells[0].available == 2
    assert {cell.available for cell in result.cells[1:]} == {3}


def test_ids_tell_one_person_listed_twice_from_two_of_one_name():
    one = Entity(name="Ana Brandt", id="Q1", views=50, nationality=("Norway",))
    again = Entity(name="Ana Brandt", id="Q1", views=50, nationality=("Kenya",))
    other = Entity(name="Ana Brandt", id="Q2", views=50, nationality=("Norway",))
    result = draw([one, again, again], 20)
    assert [drawn.entity for drawn in result.entities] == [one]  # by the first row
    assert (result.duplicates, result.ambiguous) == (2, 0)
    assert sum(cell.available for cell in result.cells) == 1
    assert draw([one, again, other], 20).ambiguous == 1
    renamed = Entity(name="Ana B.", id="Q1", views=50, nationality=("Kenya",))
    assert [drawn.entity for drawn in draw([one, renamed], 20).entities] == [one]
    plain = Entity(name="Bo", views=1, nationality=("Kenya",))
    assert len(draw([plain, plain], 20).entities) == 1


def test_more_candidates_are_held_where_most_are_ambiguous(monkeypatch):
    monkeypatch.setattr(module, "_SPARE", 0)
    table = [
        Entity(name=f"N{number}", id=f"{number}/{copy}", views=5, nationality=("Kenya",))
        for number in range(300)
        for copy in range(1 if number < 15 else 2)
    ]
    result = draw(table, 200)
    assert len(result.entities) == 10
    assert all(drawn.entity.name in {f"N{number}" for number in range(15)} for drawn in result.entities)
    every = draw(table, 30, fill="neighbours")
    assert len(every.entities) == 15


def test_unknown_nationalities_are_counted_and_named():
    table = [*people(1), *[Entity(name=f"X{n}", views=1, nationality=("Atlantis",)) for n in range(3)]]
    table.append(Entity(name="Y", views=1))
    result = draw(table, 20)
    assert (result.unknown_nationality, result.unknown) == (4, (("Atlantis", 3), ("", 1)))
    assert len(result.entities) == 20


def test_what_is_held_does_not_grow_with_the_table():
    held = module._Pools(people(400), 0, BOUNDS, 10)
    assert len(held._seen) == 200
    assert sum(held.available.values()) == 8000


@pytest.mark.parametrize(
    ("settings", "words"), [({"n": 0}, "at least one"), ({"n": 5, "fill": "guess"}, "leave or neighbours")]
)
def test_impossible_draws_are_refused(settings, words):
    with pytest.raises(UsageError, match=words):
        draw(people(1), **settings)


def test_an_iterator_cannot_be_read_twice():
    with pytest.raises(UsageError, match="twice"):
        draw(iter(people(1)), 5)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 10**6), st.sampled_from(sorted(HOME.values())))))
def test_a_draw_never_repeats_a_name_and_adds_up(rows):
    table = [Entity(name=name, views=views, nationality=(where,)) for name, views, where in rows]
    result = draw(table, 40, fill="neighbours")
    drawn = [person.entity.key for person in result.entities]
    assert len(set(drawn)) == len(drawn) == sum(cell.drawn for cell in result.cells)
    assert all(cell.drawn <= cell.available for cell in result.cells)
    assert len(drawn) + result.short == 40
    once = {person.key for person in table if len({other for other in table if other.key == person.key}) == 1}
    assert set(drawn) == once


# --- tables


def test_a_table_is_read_by_any_of_the_names_of_its_fields(tmp_path):
    rows = [
        {"topic": " Ana  Brandt ", "occurrence": 12, "pageviews": "300.5", "country": "Norway", "qid": 7},
        {"title": "Bo", "count": 3, "nationality": ["Japan", "Kenya"]},
        {"name": "Cy", "views": 5, "nationality": None},
    ]
    found = list(Entities(written(tmp_path / "t.jsonl", rows)))
    assert found == [
        Entity(name="Ana Brandt", id="7", occurrences=12.0, views=300.5, nationality=("Norway",)),
        Entity(name="Bo", occurrences=3.0, nationality=("Japan", "Kenya")),
        Entity(name="Cy", views=5.0),
    ]


def test_csv_gzip_and_parquet_hold_the_same(tmp_path):
    rows = [{"name": "Ana, the elder", "views": 120, "nationality": "Norway"}, {"name": "Bo", "views": 3}]
    wanted = list(Entities(written(tmp_path / "t.jsonl", rows)))
    with (tmp_path / "t.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["name", "views", "nationality"])
        table.writeheader()
        table.writerows(rows)
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    assert list(Entities(tmp_path / "t.csv")) == list(Entities(packed)) == wanted
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "t.parquet")
    assert list(Entities(tmp_path / "t.parquet")) == wanted


def sparql(*rows):
    bindings = [{name: {"type": "literal", "value": value} for name, value in row.items()} for row in rows]
    return {"head": {"vars": []}, "results": {"bindings": bindings}}


def test_wikidata_exports_are_read_as_they_are(tmp_path):
    item = "http://www.wikidata.org/entity/"
    rows = [
        {"item": f"{item}Q1", "itemLabel": "Ana Brandt", "countryLabel": "Norway", "views": "120", "sitelinks": "4"},
        {"item": f"{item}Q2", "itemLabel": "Q2", "countryLabel": "Norway", "views": "120", "sitelinks": "4"},
        {"item": f"{item}Q3", "itemLabel": "Bo", "countryLabel": "Norway", "views": "120", "sitelinks": "0"},
        {"item": f"{item}Q4", "itemLabel": "Cy", "views": "7", "article": "https://en.wikipedia.org/wiki/Cy"},
    ]
    wanted = [
        Entity(name="Ana Brandt", id="Q1", views=120.0, nationality=("Norway",)),
        Entity(name="Cy", id="Q4", views=7.0),
    ]
    for indent in (None, 2):
        path = tmp_path / f"{indent}.json"
        path.write_text(json.dumps(sparql(*rows), indent=indent), encoding="utf-8")
        table = Entities(path)
        assert list(table) == wanted
        assert (table.rows, table.without_name, table.without_page) == (4, 1, 1)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        made = csv.DictWriter(file, ["item", "itemLabel", "countryLabel", "views", "sitelinks"], extrasaction="ignore")
        made.writeheader()
        made.writerows(rows[:3])
    assert list(Entities(tmp_path / "t.csv")) == wanted[:1]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"views": 1}, "name"),
        ({"name": "", "views": 1}, "name"),
        ({"name": 7, "views": 1}, "name"),
        ({"name": "\ud800", "views": 1}, "name"),
        ({"name": "x"}, "occurrences"),
        ({"name": "x", "views": -1}, "views"),
        ({"name": "x", "views": "many"}, "views"),
        ({"name": "x", "views": True}, "views"),
        ({"name": "x", "pageviews": "inf"}, "pageviews"),
        ({"name": "x", "views": 1, "country": 5}, "country"),
        ({"name": "x", "views": 1, "nationality": ["Japan", 3]}, "nationality"),
        ({"name": "x", "views": 1, "id": 1.5}, "id"),
        ([1], "row"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path, row, field):
    good = {"name": "Ana", "views": 3, "nationality": "Norway"}
    path = written(tmp_path / "t.jsonl", [good, row, good])
    with pytest.raises(InputError) as caught:
        list(Entities(path))
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 2, field)
    table = Entities(path, on_error="skip")
    assert len(list(table)) == 2
    assert (table.skipped, [error.line for error in table.errors], table.rows) == (1, [2], 3)


def test_a_broken_line_and_a_bad_binding_have_their_places(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"name": "Ana", "views": 1}\n{"name": \n')
    with pytest.raises(InputError, match=r"t\.jsonl:2: not JSON"):
        list(Entities(path))
    path.write_text(json.dumps(sparql({"itemLabel": "Ana", "views": "1"}, {"itemLabel": "Bo", "views": "?"})))
    with pytest.raises(InputError, match="binding 2"):
        list(Entities(path))


def test_kept_errors_are_bounded(tmp_path):
    table = Entities(written(tmp_path / "t.jsonl", [{"name": "x"}] * 150), on_error="skip")
    assert list(table) == []
    assert (table.skipped, len(table.errors)) == (150, 100)


@given(st.dictionaries(st.sampled_from(["name", "views", "country", "id", "page"]), st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text(), max_size=2))))  # fmt: skip
def test_any_row_is_a_person_or_an_error_with_its_place(tmp_path_factory, row):
    path = tmp_path_factory.mktemp("rows") / "t.jsonl"
    path.write_text(json.dumps({"name": "x", "views": 1, **row}) + "\n")
    try:
        found = list(Entities(path))
    except InputError as error:
        assert error.line == 1
    else:
        assert all(person.value >= 0 and person.name for person in found)


@given(st.text(min_size=1) | st.text(st.characters(codec="ascii"), min_size=1))
def test_names_are_the_same_where_their_folded_forms_are(text):
    name = " ".join(text.split())
    assert Entity(name=name, views=1).key == fold(name)


# --- prompts


def test_the_183_names_of_the_labelled_set_are_read():
    listed = names(shared("factscore_labeled") / "prompt_entities.txt")
    assert len(listed) == 183
    assert (listed[0], listed[8]) == ("Kang Ji-hwan", "Focus...")
    assert listed[3] == "William Waldegrave, Baron Waldegrave of North Hill"


@pytest.mark.parametrize("system", ["InstructGPT", "ChatGPT", "PerplexityAI"])
def test_question_levels_and_regions_are_those_of_the_released_data(system):
    path = shared("factscore_labeled") / f"{system}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(QUESTION.format(name=row["topic"]) == row["input"] for row in rows)
    assert {row["cat"][0] for row in rows} == set(LEVELS)
    assert {row["cat"][1] for row in rows} == set(REGIONS)


def test_a_list_holds_each_name_once(tmp_path):
    path = tmp_path / "people.txt"
    path.write_bytes("\ufeffAna Brandt\r\n\r\n  Bo  Dee \nana brandt\n".encode())
    assert names(path) == ["Ana Brandt", "Bo Dee"]
    path.write_bytes(b"Ana\n\xff\n")
    with pytest.raises(InputError, match=r"people\.txt:2: not UTF-8"):
        names(path)


def test_prompts_with_answers_are_inputs_of_score(tmp_path):
    made = list(prompts(draw(Entities(EXAMPLE), 40).entities))
    assert len({prompt.id for prompt in made}) == len(made) == 39
    rows = [
        {"id": made_.id, "prompt": made_.prompt, "topic": made_.topic, "metadata": made_.metadata, "output": "She was."}
        for made_ in made
    ]
    for prompt, generation in zip(made, read(written(tmp_path / "g.jsonl", rows)), strict=True):
        assert (generation.id, generation.prompt, generation.topic) == (prompt.id, prompt.prompt, prompt.topic)
        assert generation.metadata == prompt.metadata
        assert set(prompt.metadata) == {"frequency", "region", "value", "nationality"}


def test_prompts_of_names_and_of_people_without_a_cell():
    [plain, person] = prompts(["Ana {x}", Entity(name="Bo", views=250.5)])
    assert (plain.id, plain.prompt, plain.metadata) == ("Ana {x}", "Question: Tell me a bio of Ana {x}.", {})
    assert person.metadata == {"frequency": "rare", "value": 250.5}


# --- the command


def run(capsys, *arguments):
    status = cli.run(["biographies", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_command_writes_prompts_and_shows_the_cells(tmp_path, capsys):
    out = tmp_path / "prompts.jsonl"
    status, said, _ = run(capsys, EXAMPLE, "--n", 40, "--out", out)
    assert status == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 39
    assert all(row["prompt"] == f"Question: Tell me a bio of {row['topic']}." for row in rows)
    assert "1 fewer than wanted" in said
    assert "nationality unknown: 1 (missing: 1)" in said
    assert [path.name for path in tmp_path.iterdir()] == ["prompts.jsonl"]
    before = out.read_bytes()
    assert run(capsys, EXAMPLE, "--n", 40, "--out", out)[0] == 0
    assert out.read_bytes() == before


def test_the_command_says_the_same_in_json(tmp_path, capsys):
    out = tmp_path / "prompts.jsonl"
    status, said, _ = run(capsys, EXAMPLE, "--n", 40, "--fill", "neighbours", "--out", out, "--json")
    about = json.loads(said)
    assert (status, about["entities"], about["wanted"], about["people"]) == (0, 40, 40, 63)
    assert (about["ambiguous"], about["duplicates"], about["unknown_nationality"]) == (1, 1, 1)
    assert len(about["cells"]) == 20
    assert sum(cell["drawn"] for cell in about["cells"]) == 40


def test_the_command_takes_a_list_of_names(tmp_path, capsys):
    path, out = tmp_path / "people.txt", tmp_path / "prompts.jsonl"
    path.write_text("Ana Brandt\nBo Dee\nCy Eck\n")
    assert run(capsys, path, "--out", out)[0] == 0
    assert [json.loads(line)["topic"] for line in out.read_text().splitlines()] == ["Ana Brandt", "Bo Dee", "Cy Eck"]
    status, said, _ = run(capsys, path, "--n", 2, "--out", out, "--json")
    assert (status, json.loads(said)["entities"], len(out.read_text().splitlines())) == (0, 2, 2)


def test_the_command_goes_on_or_stops_at_a_bad_row(tmp_path, capsys):
    rows = [{"name": "Ana", "views": 3, "nationality": "Norway"}, {"name": "Bo", "views": "?"}]
    path, out = written(tmp_path / "t.jsonl", rows), tmp_path / "out.jsonl"
    status, _, err = run(capsys, path, "--out", out)
    assert (status, out.exists()) == (2, False)
    assert f"{path}:2: field 'views'" in err
    status, said, err = run(capsys, path, "--out", out, "--on-error", "skip")
    assert status == 0
    assert "skipped, unusable: 1" in said
    assert "t.jsonl:2" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--levels", "1,2,x,4"),
        ("--levels", "1,2,3"),
        ("--fill", "guess"),
        ("--on-error", "maybe"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, capsys, arguments):
    status, _, err = run(capsys, EXAMPLE, "--out", tmp_path / "o.jsonl", *arguments)
    assert status == 2
    assert len(err.strip().splitlines()) == 1


def test_the_input_is_never_written_over(tmp_path, capsys):
    path = tmp_path / "t.jsonl"
    path.write_bytes(EXAMPLE.read_bytes())
    assert run(capsys, path, "--out", path)[0] == 2
    assert path.read_bytes() == EXAMPLE.read_bytes()
    assert run(capsys, tmp_path / "none.jsonl", "--out", tmp_path / "o.jsonl")[0] == 2
    (tmp_path / "empty.txt").write_text("\n")
    assert run(capsys, tmp_path / "empty.txt", "--out", tmp_path / "o.jsonl")[0] == 2
    assert run(capsys, EXAMPLE, "--out", tmp_path / "no" / "o.jsonl")[0] == 2
