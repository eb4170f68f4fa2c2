"""Reports made by hand, for tests of what is computed from them."""

from veridical.types import (
    AtomicFact,
    Failure,
    Generation,
    JudgedFact,
    Label,
    Report,
    SentenceFailure,
    Verdict,
)

LABELS = {"S": Label.SUPPORTED, "C": Label.CONTRADICTED, "N": Label.NOT_ENOUGH_EVIDENCE, "I": Label.IRRELEVANT}


def report(facts="", *, id="g", prompt="", topic=None, repeats=0, signature="m", failed=None, broken=False, **metadata):
    """A report with one fact a letter: S, C, N, I as in LABELS, U for unjudged. `failed` fails the whole, `broken` one
    sentence. "-" is an abstention."""
    generation = Generation(id=id, text="text", prompt=prompt, topic=topic, metadata=metadata)
    if facts == "-":
        return Report(generation=generation, abstained=True, signature=signature)
    return Report(
        generation=generation,
        facts=tuple(fact(letter, f"{id}/0.{n}", repeats) for n, letter in enumerate(facts)),
        failure=Failure(stage="decompose", error=failed, message="") if failed else None,
        failures=(SentenceFailure(sentence=0, failure=Failure(stage="decompose", error="ParseError", message="")),)
        if broken
        else (),
        signature=signature,
    )


def fact(letter, id="g/0.0", repeats=0):
    atomic = AtomicFact(id=id, text=id, sentence=0, repeats=repeats)
    if letter == "U":
        return JudgedFact(fact=atomic, failure=Failure(stage="verify", error="ParseError", message=""))
    return JudgedFact(fact=atomic, verdict=Verdict(label=LABELS[letter], judge="test"))
