"""The run folder: torn tails, foreign runs, one writer."""

import subprocess
import sys

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
    with made.held():
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


def test_of_many_differences_the_input_and_a_few_are_named(tmp_path):
    run, other = folder(tmp_path), Signature({"name": "m", "judge": "b", **{f"part.{n}": n for n in range(20)}})
    with run.held(), pytest.raises(UsageError) as caught:
        run.start(other, info(input_sha256="1", fields=other.fields))
    said = str(caught.value)
    assert "x.jsonl with other content" in said and "judge" in said and "and 17 more" in said and len(said) < 500


def test_only_one_writer(tmp_path):
    run = folder(tmp_path)
    with run.held(), pytest.raises(UsageError, match="another process"), RunFolder(run.path).held():
        pass
    with run.held():
        pass


def test_a_report_is_written_whole_or_not_at_all(tmp_path):
    """With a limit to the size of files in place of a full disk."""
    code = """
import resource, sys
from veridical.errors import FatalError
from veridical.folder import RunFolder
from veridical.types import Generation, Report

folder = RunFolder(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (150, 150))
with folder.appending() as writer:
    for n in range(9):
        try:
            writer.write(Report(generation=Generation(id=str(n), text="x" * 20)))
        except FatalError as error:
            print(n, error)
            break
"""
    run = folder(tmp_path)
    done = subprocess.run([sys.executable, "-c", code, str(run.path)], capture_output=True, text=True, check=True)
    stopped, words = done.stdout.strip().split(" ", 1)
    assert words.startswith("cannot write reports")
    assert run.done() == [str(n) for n in range(int(stopped))] and run.reports_path.read_bytes().endswith(b"\n")


def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(UsageError, match="cannot write to"), RunFolder(path).held():
            pass


def test_not_a_run_folder(tmp_path):
    with pytest.raises(UsageError, match="no run"):
        RunFolder(tmp_path).info()
    with pytest.raises(UsageError, match="no reports"):
        list(RunFolder(tmp_path).reports())
    (tmp_path / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError):
        RunFolder(tmp_path).info()
