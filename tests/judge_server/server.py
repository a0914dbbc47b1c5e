"""The server: real sockets, one thread with a loop of its own, every request written down.

What each call gets is a mode: the next one of the script, else the standing one. `calls` has all that came in, in order.
"""

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import msgspec

from tests.judge_server.faults import REPLIES, Reply, completion
from tests.judge_server.good_answers import Answers, asked_of, embedding, good_answer


class Call(msgspec.Struct, frozen=True):
    """One request. `key` is its Idempotency-Key, "" where there is none; `body` what its JSON says, {} where it has none."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    mode: str

    @property
    def key(self) -> str:
        """The Idempotency-Key."""
        return self.headers.get("idempotency-key", "")


class JudgeServer:
    """`with JudgeServer() as server:` serves `server.url` until the block ends.

    `script` holds the modes of the next calls, `mode` what comes after them: a name of `faults.REPLIES` or of `STREAMS`, or a
    Reply. `answers` makes the good answer. All may be changed at any time by the test's own thread.
    """

    def __init__(self, mode: str | Reply = "ok", answers: Answers = good_answer) -> None:
        self.mode: str | Reply = mode
        self.script: list[str | Reply] = []
        self.answers = answers
        self.model = ""  # what responses name; "" for what was asked for
        self.fingerprint = "fp_1"
        self.calls: list[Call] = []
        self.answered: Counter[str] = Counter()  # whole responses of status 200 that were sent, by Idempotency-Key
        self.bytes_sent = 0
        self.heard = threading.Event()  # set when a request has come in
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge-server", daemon=True)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def plays(self, *modes: str | Reply) -> None:
        """Add modes for the next calls."""
        self.script.extend(modes)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON of every request, in order."""
        return [call.body for call in self.calls]

    @property
    def keys(self) -> Counter[str]:
        """How often each Idempotency-Key came in."""
        return Counter(call.key for call in self.calls)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Of 3.11 asyncio's streams report a cancelled handler as an error.
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        method, path, _ = first.split(" ")
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        mode = self.script.pop(0) if self.script else self.mode
        call = Call(method, path, headers, body, mode if isinstance(mode, str) else "reply")
        self.calls.append(call)
        self.heard.set()
        if isinstance(mode, str) and mode in STREAMS:
            await STREAMS[mode](self, call, writer)
            return
        reply = mode if isinstance(mode, Reply) else self._reply(call, mode)
        await self.send(writer, reply)
        if reply.status == 200:
            self.answered[call.key] += 1

    def _reply(self, call: Call, mode: str) -> Reply:
        if call.path.endswith("/embeddings"):
            if mode != "ok":
                return REPLIES[mode](call.body, "{}")
            texts = call.body.get("input")
            data = [
                {"object": "embedding", "index": n, "embedding": embedding(text)}
                for n, text in enumerate([texts] if isinstance(texts, str) else texts or [])
            ]
            usage = {"prompt_tokens": 5 * len(data), "total_tokens": 5 * len(data)}
            document = {"object": "list", "data": data, "model": call.body.get("model"), "usage": usage}
            return Reply(body=json.dumps(document).encode())
        if not call.path.endswith("/chat/completions"):
            return Reply(404, b'{"error": {"message": "no such path"}}')
        text = self.good_text(call)
        if mode == "ok":
            document = completion(text, model=self.model or str(call.body.get("model")))
            document["system_fingerprint"] = self.fingerprint
            return Reply(body=json.dumps(document).encode(), headers={"x-request-id": f"req_{len(self.calls)}"})
        return REPLIES[mode](call.body, text)

    def good_text(self, call: Call) -> str:
        """The good answer to a call, as the text of a completion."""
        answer = self.answers(*asked_of(call.body))
        return answer if isinstance(answer, str) else json.dumps(answer)

    async def send(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        """Put a whole response on the wire."""
        length = len(reply.body) if reply.promised is None else reply.promised
        lines = {
            "content-type": reply.content_type,
            "content-length": str(length),
            "connection": "close",
            **reply.headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + reply.body)
        self.bytes_sent += len(reply.body)
        await writer.drain()


async def _hang(server: JudgeServer, call: Call, writer: asyncio.StreamWriter) -> None:
    """Take the request and say nothing until the client gives up."""
    await asyncio.Event().wait()


async def _drip(server: JudgeServer, call: Call, writer: asyncio.StreamWriter) -> None:
    """A byte now and then: no single read ever takes long."""
    writer.write(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _disconnect(server: JudgeServer, call: Call, writer: asyncio.StreamWriter) -> None:
    """Close before a byte of the response."""


async def _disconnect_amid(server: JudgeServer, call: Call, writer: asyncio.StreamWriter) -> None:
    """Promise more than is sent."""
    body = json.dumps(completion(server.good_text(call))).encode()
    await server.send(writer, Reply(body=body[: len(body) // 2], promised=len(body)))


async def _endless(server: JudgeServer, call: Call, writer: asyncio.StreamWriter) -> None:
    """A body that does not end by itself; 256 MiB at most."""
    writer.write(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n")
    for _ in range(4096):
        writer.write(b" " * 65536)
        server.bytes_sent += 65536
        await writer.drain()


async def _not_http(server: JudgeServer, call: Call, writer: asyncio.StreamWriter) -> None:
    """Something else answers on this port."""
    writer.write(b"220 mail.example ESMTP\r\n")
    await writer.drain()


STREAMS: dict[str, Callable[[JudgeServer, Call, asyncio.StreamWriter], Awaitable[None]]] = {
    "hang": _hang,
    "drip": _drip,
    "disconnect": _disconnect,
    "disconnect_amid": _disconnect_amid,
    "endless": _endless,
    "not_http": _not_http,
}
