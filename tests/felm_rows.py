"""Rows shaped as FELM's, with its irregularities; every text is ours."""

import json


def row(index, domain="wk", labels=(True, False), *, segments=None, **more):
    texts = segments or [f"Segment {place} of {index} is here." for place in range(len(labels))]
    made = {
        "index": str(index),
        "domain": domain,
        "source": "ours",
        "prompt": f"What of {index}?",
        "response": " ".join(texts),
        "segmented_response": texts,
        "labels": list(labels),
        "comment": ["" if label else "no" for label in labels],
        "type": [None if label else "knowledge_error" for label in labels],
        "ref": [],
        "ref_contents": "",
    }
    return made | more


def written(path, rows):
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")
    return path


def small():
    """Six samples of five domains; two with reference text."""
    lake = "The mill at Orn was built in 1884. It burnt down in 1911."
    return [
        row(
            0,
            segments=["The mill at Orn was built in 1884.", "It burnt down in 1920."],
            ref=["https://example.org/orn"],
            ref_contents=[lake],
        ),
        row(1, labels=(True,), segments=["Orn lies on a lake."]),
        row(
            2,
            "science",
            (True, True, False),
            ref=["https://example.org/a", "https://example.org/b"],
            ref_contents=["Salt water freezes below 0 °C.", "The text of b."],
        ),
        row(3, "math", (True, False), type=[]),
        row(4, "reasoning", (True, True), type="", ref=""),
        row(5, "writing_rec", (False, True), type=["fooled", ""], ref=["https://example.org/c."]),
    ]
