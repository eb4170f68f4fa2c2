"""Calls per second and core: veridical's model client beside the `openai` SDK's AsyncOpenAI, same loopback server.

    python perf/client.py [--rounds 7] [--calls 3000] [--concurrency 64]

The server is a process of its own and answers each request with one canned completion, so that the CPU time of this
process is the client's alone. The two clients run in turn, in changing order; each round gives one ratio of calls per
CPU second, and the median is the result.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import openai

from veridical.models.base import ChatRequest, LanguageModel, Message
from veridical.models.limit import Limited
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.retry import Retrying

PROMPT = "Ada Lovelace was born in London in 1815. " * 25 + "\nTrue or False?"
TOP = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in [("True", -0.1), ("False", -2.4)]]
LOGPROBS = {"content": [{"token": "True", "logprob": -0.1, "bytes": None, "top_logprobs": TOP}], "refusal": None}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1764547200,
    "model": "loopback",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "True", "refusal": None},
            "logprobs": LOGPROBS,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 290, "completion_tokens": 1, "total_tokens": 291},
}
Call = Callable[[], Awaitable[Any]]


class Canned(asyncio.Protocol):
    """The least HTTP server: waits for a whole request with a Content-Length, then sends the canned reply."""

    body = json.dumps(COMPLETION).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = self.buffer[:end].lower().split(b"\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            if len(self.buffer) < end + 4 + length:
                return
            self.buffer = self.buffer[end + 4 + length :]
            self.transport.write(self.reply)  # type: ignore[attr-defined]


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Canned, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def clients(url: str) -> AsyncIterator[dict[str, Call]]:
    """One call of each client: the same prompt, settings and log-probabilities, and a look at the answer."""
    sdk = openai.AsyncOpenAI(base_url=url, api_key="sk-loopback", max_retries=0)
    ours = OpenAICompatible(url, "loopback", api_key="sk-loopback")

    async def with_sdk() -> None:
        reply = await sdk.chat.completions.create(
            model="loopback",
            messages=[{"role": "user", "content": PROMPT}],
            max_tokens=1,
            temperature=0,
            logprobs=True,
            top_logprobs=20,
        )
        assert reply.choices[0].message.content == "True"
        assert reply.choices[0].logprobs.content[0].top_logprobs[1].token == "False"  # type: ignore[union-attr,index]

    def with_ours(model: LanguageModel) -> Call:
        async def call() -> None:
            request = ChatRequest(messages=(Message(role="user", content=PROMPT),), max_tokens=1, top_logprobs=20)
            reply = await model.chat(request)
            assert reply.text == "True"
            assert reply.logprobs is not None and reply.logprobs[0].top[1][0] == "False"

        return call

    stack = Retrying(Limited(ours, limit=64))
    yield {"openai": with_sdk, "veridical": with_ours(ours), "veridical, retrying and limited": with_ours(stack)}
    await sdk.close()
    await ours.close()


async def rate(call: Call, calls: int, concurrency: int) -> tuple[float, float]:
    """Calls per CPU second of this process, and per second on the clock."""
    turns = iter(range(calls))

    async def worker() -> None:
        for _ in turns:
            await call()

    gc.collect()
    cpu, clock = time.process_time(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return calls / (time.process_time() - cpu), calls / (time.perf_counter() - clock)


async def compare(rounds: int, calls: int, concurrency: int) -> None:
    with server() as url:
        async with clients(url) as both:
            for call in both.values():
                await rate(call, 2 * concurrency, concurrency)  # connections opened, caches warm
            print(f"concurrency {concurrency}, {calls} calls a client and round; calls per CPU second (per second)")
            rates: dict[str, list[float]] = {name: [] for name in both}
            for turn in range(rounds):
                for name in sorted(both, reverse=bool(turn % 2)):
                    cpu, clock = await rate(both[name], calls, concurrency)
                    rates[name].append(cpu)
                    print(f"round {turn + 1}: {name:32} {cpu:8.0f} ({clock:6.0f})")
    print()
    for name, found in rates.items():
        ratios = [ours / sdk for ours, sdk in zip(found, rates["openai"], strict=True)]
        print(
            f"{name:32} median {statistics.median(found):6.0f} calls per CPU second,"
            f" {statistics.median(ratios):5.1f} times the openai SDK ({min(ratios):.1f} to {max(ratios):.1f})"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    asyncio.run(serve() if options.serve else compare(options.rounds, options.calls, options.concurrency))
