"""The run folder: torn tails, foreign runs, one writer."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import InputError, UsageError
from veridical.folder import RunFolder, RunInfo
from veridical.signature import Signature
from veridical.types import Generation, Report

SIGNATURE = Signature({"name": "m", "judge": "a"})


def info(**changes) -> RunInfo:
    return RunInfo(**{"signature": "m", "fields": SIGNATURE.fields, "input": "x.jsonl", "input_sha256": "0", **changes})


def lines(*ids: str) -> bytes:
    return b"".join(msgspec.json.encode(Report(generation=Generation(id=i, text="t"))) + b"\n" for i in ids)


def folder(path) -> RunFolder:
    made = RunFolder(path / "run")
    assert made.start(SIGNATURE, info()) == []
    return made


def test_r2_torn_last_line_is_cut_and_only_that(tmp_path):
    run = folder(tmp_path)
    run.reports_path.write_bytes(lines("1", "2") + b'{"generation":{"id":"3","te')
    assert [r.generation.id for r in run.reports()] == ["1", "2"]
    assert run.done() == ["1", "2"]
    assert run.reports_path.read_bytes() == lines("1", "2")
    assert run.done() == ["1", "2"]


def test_r2_whole_last_line_without_newline_is_kept(tmp_path):
    run = folder(tmp_path)
    run.reports_path.write_bytes(lines("1", "2")[:-1])
    assert run.done() == ["1", "2"]
    assert run.reports_path.read_bytes() == lines("1", "2")


@given(cut=st.integers(0, 400))
def test_r2_cut_at_any_byte_keeps_every_whole_line(tmp_path_factory, cut):
    whole = lines("1", "2", "é3")
    run = folder(tmp_path_factory.mktemp("r"))
    run.reports_path.write_bytes(whole[: min(cut, len(whole))])
    done = run.done()
    assert run.reports_path.read_bytes() == lines(*done)
    assert done == ["1", "2", "é3"][: len(done)]
    assert len(lines(*done)) >= whole[:cut].rfind(b"\n") + 1


def test_damage_in_the_middle_names_file_and_line(tmp_path):
    run = folder(tmp_path)
    run.reports_path.write_bytes(lines("1") + b"garbage\n" + lines("2"))
    with pytest.raises(InputError, match=r"reports\.jsonl:2"):
        run.done()


def test_another_signature_is_refused_and_the_field_named(tmp_path):
    run = folder(tmp_path)
    other = Signature({"name": "m", "judge": "b"})
    with pytest.raises(UsageError, match="judge: 'a' then, 'b' now"):
        run.start(other, info(fields=other.fields))


def test_other_input_or_settings_are_refused_and_fresh_starts_again(tmp_path):
    run = folder(tmp_path)
    run.reports_path.write_bytes(lines("1"))
    with pytest.raises(UsageError, match="input"):
        run.start(SIGNATURE, info(input_sha256="1"))
    with pytest.raises(UsageError, match="sample: None then, 5 now"):
        run.start(SIGNATURE, info(settings={"sample": 5}))
    assert run.start(SIGNATURE, info(settings={"sample": 5}), fresh=True) == []
    assert not run.reports_path.exists()


def test_only_one_writer(tmp_path):
    run = folder(tmp_path)
    with run.appending(), pytest.raises(UsageError, match="another process"), run.appending():
        pass


def test_not_a_run_folder(tmp_path):
    with pytest.raises(UsageError, match="no run"):
        RunFolder(tmp_path).info()
    with pytest.raises(UsageError, match="no reports"):
        list(RunFolder(tmp_path).reports())
    (tmp_path / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError):
        RunFolder(tmp_path).info()
