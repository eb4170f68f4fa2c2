"""Facts per second end to end, and memory against the number of generations, against a loopback server.

    python perf/pipeline.py            # 20 ms server, concurrency 64; then 1,000 and 10,000 generations
    python perf/pipeline.py --quick

The server is a process of its own that answers each call after 20 ms; the client is the `factscore` method with the
reference of each generation as evidence: the whole of `veridical score` but for printing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

DELAY = 0.02
_SENTENCE = re.compile(rb"<sentence-[^>]*>(.*?)</sentence-", re.DOTALL)


class Server(asyncio.Protocol):
    """As little HTTP as serves one keep-alive client: a body is read whole and answered after DELAY."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = int(re.search(rb"content-length: *(\d+)", head).group(1))
            if len(self.buffer) < end + 4 + length:
                return
            body = self.buffer[end + 4 : end + 4 + length]
            self.buffer = self.buffer[end + 4 + length :]
            asyncio.get_running_loop().call_later(DELAY, self.answer, body)

    def answer(self, body: bytes) -> None:
        text = "True"
        if b"split sentences into atomic facts" in body:
            words = json.loads(b'"' + _SENTENCE.findall(body)[-1] + b'"').split()
            cut = max(1, len(words) // 4)
            text = "\n".join("- " + " ".join(words[i : i + cut]) for i in range(0, len(words), cut))
        payload = json.dumps(
            {
                "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": len(body) // 4, "completion_tokens": 4},
            }
        ).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(payload)
        if not self.transport.is_closing():
            self.transport.write(head + payload)


def serve(port: Connection) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def write(path: Path, count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            sentences = [
                f"Mill {n} opened in the year {1700 + s} beside the river and was owned by the family number {s} of it."
                for s in range(3)
            ]
            reference = " ".join(sentences[:2]) + f" It closed in {1900 + n % 100}."
            item = {"id": str(n), "text": " ".join(sentences), "topic": f"Mill {n}", "reference": reference}
            file.write(json.dumps(item) + "\n")
    return path


def measure(url: str, count: int, concurrency: int, folder: Path) -> dict[str, float]:
    """One run in a process of its own, so that peak memory is that run's."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=child, args=(there, url, count, concurrency, str(folder)))
    process.start()
    result = here.recv()
    process.join()
    return result


def child(pipe: Connection, url: str, count: int, concurrency: int, folder: str) -> None:
    from veridical import cli

    items = write(Path(folder) / "items.jsonl", count)
    out = Path(folder) / "run"
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    started, cpu = time.perf_counter(), time.process_time()
    arguments = ["--judge", f"{url}#m", "--read", "text", "--concurrency", str(concurrency), "--json"]
    status = cli.run(["score", str(items), "--out", str(out), *arguments])
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    facts = calls = 0
    with (out / "reports.jsonl").open(encoding="utf-8") as file:
        for line in file:
            report = json.loads(line)
            facts += len(report["facts"])
            calls += report["usage"]["calls"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send({"status": status, "facts": facts, "calls": calls, "seconds": seconds, "cpu": cpu, "peak": peak})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 and 300 generations only")
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    print("| generations | facts | calls | seconds | facts/s | calls/s | calls per CPU second | peak MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for count in (100, 300) if options.quick else (1000, 10000):
        with tempfile.TemporaryDirectory() as folder:
            r = measure(url, count, options.concurrency, Path(folder))
        print(
            f"| {count} | {r['facts']} | {r['calls']} | {r['seconds']:.1f} | {r['facts'] / r['seconds']:.0f} "
            f"| {r['calls'] / r['seconds']:.0f} | {r['calls'] / r['cpu']:.0f} | {r['peak']:.0f} |",
            flush=True,
        )
    server.terminate()


if __name__ == "__main__":
    main()
