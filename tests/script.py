"""What the scripts of a model double read from a prompt and give back."""

import re

from veridical.models.base import ChatReply, ChatRequest


def last_block(request: ChatRequest, name: str) -> str:
    """What stands in the last fenced block of this name."""
    said = "\n".join(message.content for message in request.messages)
    blocks = re.findall(rf"<({name}-[0-9a-f]+)>\n(.*?)\n</\1>", said, re.DOTALL)
    return blocks[-1][1]


def cut(text: str) -> ChatReply:
    """A reply that max_tokens cut off."""
    return ChatReply(text=text, finish_reason="length")
