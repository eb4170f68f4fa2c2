"""A language model that answers by a function of the request, for tests; it keeps what it was asked."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from veridical.models.base import ChatReply, ChatRequest


@dataclass
class Script:
    """`answer(request)` gives the text, (text, finish_reason) or a whole reply, or raises."""

    answer: Callable[[ChatRequest], str | tuple[str, str] | ChatReply]
    requests: list[ChatRequest] = field(default_factory=list)
    rejected: list[ChatRequest] = field(default_factory=list)
    name: str = "test/script"
    identity: str = "test/script"

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        said = self.answer(request)
        if isinstance(said, ChatReply):
            return said
        text, finish_reason = said if isinstance(said, tuple) else (said, "stop")
        return ChatReply(text=text, finish_reason=finish_reason)

    async def reject(self, request: ChatRequest) -> None:
        self.rejected.append(request)

    async def close(self) -> None: ...


def last_block(request: ChatRequest, name: str) -> str:
    """What stands in the last fenced block of this name in the first message."""
    blocks = re.findall(rf"<({name}-[0-9a-f]+)>\n(.*?)\n</\1>", request.messages[0].content, re.DOTALL)
    return blocks[-1][1]
