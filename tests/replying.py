"""A judge for loopback servers: splits each sentence into two facts and calls facts true or false by their wording."""

import hashlib
import re

from loopback import Answer, Request, chat, usage

_SENTENCE = re.compile(r"<sentence-[^>]*>(.*?)</sentence-", re.DOTALL)


def reply(request: Request, delay: float = 0.0) -> Answer:
    prompt = "\n".join(message["content"] for message in request.json["messages"])
    sentences = _SENTENCE.findall(prompt)
    if "split sentences into atomic facts" in prompt:
        words = sentences[-1].split()
        half = len(words) // 2
        text = f"- {' '.join(words[:half])}.\n- {' '.join(words[half:])}"
    else:
        text = "True" if hashlib.sha256(prompt.encode()).digest()[0] % 2 else "False"
    return Answer(chat(text) | usage(len(prompt) // 4, len(text) // 4 + 1), delay=delay)
