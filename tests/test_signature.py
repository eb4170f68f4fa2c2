"""Every setting of a method is in its signature."""

from dataclasses import dataclass, replace

import pytest

from veridical.signature import sign
from veridical.types import Label, Query


@dataclass(frozen=True)
class Model:
    name: str = "openai/a"

    async def chat(self, request): ...


@dataclass(frozen=True)
class Template:
    name: str = "judge"
    fingerprint: str = "abc"


@dataclass(frozen=True)
class Part:
    model: Model = Model()
    template: Template = Template()
    k: int = 5
    labels: tuple = (Label.SUPPORTED, None)
    judges: tuple = (Model(), Template())
    query: Query = Query(text="q")
    table: tuple = ()


@dataclass(frozen=True)
class Whole:
    name: str = "whole"
    part: object = Part()
    threshold: float = 0.5


def test_fields_are_flat_and_named_by_path():
    fields = sign(Whole()).fields
    assert fields["part.model"] == "openai/a"
    assert fields["part.template"] == "judge@abc"
    assert fields["part.labels"] == '["supported", null]'
    assert fields["part.query.text"] == "q"
    assert fields["part.judges.1"] == "openai/a"
    assert fields["threshold"] == 0.5


@pytest.mark.parametrize(
    "changed",
    [
        Whole(threshold=0.4),
        Whole(part=replace(Part(), k=3)),
        Whole(part=replace(Part(), model=Model("openai/b"))),
        Whole(part=replace(Part(), template=Template(fingerprint="abd"))),
        Whole(part=replace(Part(), labels=(Label.SUPPORTED,))),
        Whole(part=replace(Part(), judges=(Model("openai/b"), Template()))),
        Whole(part=replace(Part(), judges=(Model(), Template(fingerprint="abd")))),
    ],
)
def test_any_change_moves_the_digest_and_is_named(changed):
    before, after = sign(Whole()), sign(changed)
    assert before.digest != after.digest
    assert len(after.differences(before.fields)) == 1


def test_a_model_among_several_is_signed_with_its_identity():
    @dataclass(frozen=True)
    class Local:
        name: str = "llamacpp/x"
        identity: str = "sha256:1"

    first, second = Whole(part=(Local(),)), Whole(part=(Local(identity="sha256:2"),))
    assert sign(second).differences(sign(first).fields) == ["part.1.identity: 'sha256:1' then, 'sha256:2' now"]


def test_same_settings_same_signature():
    assert str(sign(Whole())) == str(sign(Whole()))
    assert sign(Whole()).differences(sign(Whole()).fields) == []


def test_a_part_that_cannot_be_described_is_refused():
    with pytest.raises(TypeError, match="part"):
        sign(Whole(part=object()))
