"""Starting and stopping: ports, probes, and that nothing arrives after the end (C1, C6, C4)."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

import grpc
import h2.config
import h2.connection
import h2.errors
import pytest
from hyperframe.frame import GoAwayFrame, SettingsFrame
from lanewatch.collector.outcomes import Code, RefusalReason
from lanewatch.collector.receive_grpc import GrpcReceiver, GrpcSettings
from lanewatch.collector.receive_http import HttpReceiver, HttpSettings
from lanewatch.collector.spans import Signal

from tests.protocol.clients import METHOD, OK, Via, call, send
from tests.protocol.export_requests import span, traces
from tests.protocol.served import Loop, Served, in_the_end

REQUEST = traces(span())


def check(served: Served, service: bytes = b"") -> bytes | grpc.StatusCode:
    """What a probe of the gRPC health service is told."""
    request = b"\x0a" + bytes([len(service)]) + service if service else b""
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel:
        try:
            return channel.unary_unary("/grpc.health.v1.Health/Check")(request, timeout=10)
        except grpc.RpcError as error:
            return error.code()


@pytest.mark.parametrize(
    "service",
    [
        b"",
        b"opentelemetry.proto.collector.trace.v1.TraceService",
        b"opentelemetry.proto.collector.logs.v1.LogsService",
    ],
)
def test_a_probe_is_told_that_it_serves(served: Served, service: bytes) -> None:
    """grpc.health.v1: SERVING is 1."""
    assert check(served, service) == b"\x08\x01"


def test_a_probe_of_an_unknown_service_is_told_so(served: Served) -> None:
    """grpc.health.v1: NOT_FOUND, which a probe takes for unhealthy."""
    assert check(served, b"x.Y") is grpc.StatusCode.NOT_FOUND
    assert check(served, b"x" * 100) is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("method", ["Watch", "List"])
def test_what_else_a_probe_may_ask_is_no_refused_request(served: Served, method: str) -> None:
    """The protocol allows UNIMPLEMENTED, which clients take for healthy; advice on exporters would puzzle them."""
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel, pytest.raises(grpc.RpcError) as caught:
        list(channel.unary_stream(f"/grpc.health.v1.Health/{method}")(b"", timeout=10))

    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert served.refused(RefusalReason.UNKNOWN_PATH) == 0


def test_a_probe_hears_of_the_stop_first(served: Served) -> None:
    """C1: not ready before the listeners go, so that nobody is sent here any more."""
    served.grpc.health.serving = False

    assert check(served) == b"\x08\x02"
    assert send(served, Via.GRPC, REQUEST).code == OK


@pytest.mark.parametrize("via", Via)
def test_a_new_request_is_refused_while_stopping(served: Served, via: Via) -> None:
    """503 and UNAVAILABLE with advice; over HTTP the connection is closed as well."""
    served.intake.stop()
    answer = send(served, via, REQUEST)

    assert (answer.code, answer.details) == (Code.UNAVAILABLE, ["google.rpc.RetryInfo"])
    assert via is Via.GRPC or answer.headers["connection"] == "close"
    assert served.refused(RefusalReason.STOPPING) == 1


def test_a_stopping_grpc_server_says_goodbye_to_its_connections(served: Served) -> None:
    """C1: after UNAVAILABLE comes GOAWAY, at first without an error: a client goes elsewhere and takes nothing for lost."""
    h2c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    h2c.initiate_connection()
    stopping = threading.Thread(target=served.stop)
    with (
        socket.create_connection(("127.0.0.1", served.grpc.port), timeout=20) as sock,
        sock.makefile("rb") as stream,
    ):
        sock.sendall(h2c.data_to_send())
        coming = frames(stream)
        for _ in range(2):  # its settings, and its answer to ours: the connection is up
            next(payload for kind, payload in coming if kind == SettingsFrame.type)
        stopping.start()
        goodbye = next(payload for kind, payload in coming if kind == GoAwayFrame.type)
    stopping.join()

    assert int.from_bytes(goodbye[4:8], "big") == h2.errors.ErrorCodes.NO_ERROR


def frames(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Type and payload of each HTTP/2 frame (RFC 9113, 4.1)."""
    while head := stream.read(9):
        yield head[3], stream.read(int.from_bytes(head[:3], "big"))


def test_calls_of_one_connection_are_served_beside_each_other(served: Served) -> None:
    """An exporter of a busy application has many calls under way; one that is slow must not hold up the others."""
    done = threading.Event()
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel:
        export = channel.stream_unary(METHOD[Signal.TRACES])
        held = [export.future(wait_for(done), timeout=20) for _ in range(20)]
        assert in_the_end(lambda: served.grpc.reading == len(held))
        answer = export(iter([REQUEST.SerializeToString()]), timeout=20)
        done.set()
        refused = [call.exception(timeout=20) for call in held]

    assert answer == b""
    assert served.sink.items == 1
    assert len(refused) == 20


def wait_for(done: threading.Event) -> Iterator[bytes]:
    """A stream of no request, which ends once this is set."""
    done.wait(20)
    yield from ()


def test_an_open_request_may_finish(served: Served) -> None:
    """C1: its head has come, its body comes during the grace; the answer says that it was the last one."""
    raw = REQUEST.SerializeToString()
    head = (
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n"
        % len(raw)
    )
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
        sock.sendall(head + raw[:10])
        assert in_the_end(lambda: served.admission.in_flight_bytes > 0)
        stopping = threading.Thread(target=served.stop)
        stopping.start()
        assert in_the_end(lambda: served.http.stopping)
        sock.sendall(raw[10:])
        answer = b"".join(iter(lambda: sock.recv(1000), b""))
        stopping.join()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nConnection: close\r\n" in answer
    assert served.sink.items == 1


def test_a_request_that_is_still_open_after_the_grace_is_dropped(served: Served) -> None:
    """C1: the grace has an end, and what is dropped is counted."""
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
        sock.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n")
        assert in_the_end(lambda: served.http.connections > 0)
        served.stop(grace_seconds=0.05)

    assert served.http.connections == 0
    assert served.refused(RefusalReason.ABANDONED) == 1


def test_nothing_is_delivered_after_the_stop(served: Served) -> None:
    """C1: eight clients that go on sending, also bodies that the worker has; once stop returns, the sink is still."""
    big = traces(*(span(number, name="x" * 500) for number in range(1, 3000)))
    accepted = [0] * 8

    def keep_sending(number: int) -> None:
        request = big if number % 4 == 3 else REQUEST
        via = Via.GRPC if number % 2 else Via.HTTP_PROTOBUF
        try:
            while send(served, via, request).code == OK:
                accepted[number] += 1
        except (OSError, http.client.HTTPException):
            pass

    threads = [threading.Thread(target=keep_sending, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    assert in_the_end(lambda: all(accepted))
    served.stop()
    items, requests = served.sink.items, served.counts.value("lanewatch_requests")
    for thread in threads:
        thread.join()

    assert (served.sink.items, served.counts.value("lanewatch_requests")) == (items, requests)
    assert requests >= sum(accepted)
    assert served.counts.value("lanewatch_spans_received") == items


def test_a_taken_port_is_an_error(served: Served, loop: Loop) -> None:
    """C5: two processes on one port would each see half of every trace."""
    http_receiver = HttpReceiver(served.intake, HttpSettings(port=served.http.port))
    grpc_receiver = GrpcReceiver(served.intake, GrpcSettings(port=served.grpc.port))

    with pytest.raises(OSError, match="address already in use"):
        loop.run(http_receiver.start())
    with pytest.raises(RuntimeError, match="bind"):
        loop.run(grpc_receiver.start())
    loop.run(http_receiver.stop(0))
    loop.run(grpc_receiver.stop(0))


def test_a_port_is_known_only_once_it_is_bound(served: Served) -> None:
    """Port 0 is a wish, not a port."""
    with pytest.raises(RuntimeError, match="not started"):
        HttpReceiver(served.intake, HttpSettings(port=0)).port  # noqa: B018
    with pytest.raises(RuntimeError, match="not started"):
        GrpcReceiver(served.intake, GrpcSettings(port=0)).port  # noqa: B018
    assert served.http.port > 0
    assert served.grpc.port > 0


def test_the_defaults_listen_on_this_machine_alone() -> None:
    """X3: and on OTLP's ports."""
    assert (HttpSettings().host, HttpSettings().port) == ("127.0.0.1", 4318)
    assert (GrpcSettings().host, GrpcSettings().port) == ("127.0.0.1", 4317)


@pytest.mark.parametrize(
    ("method", "text", "reason"),
    [
        (
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            "OTEL_METRICS_EXPORTER=none",
            RefusalReason.METRICS_NOT_TAKEN,
        ),
        (
            "/opentelemetry.proto.collector.trace.v1.TraceService/Nope",
            "TraceService or LogsService",
            RefusalReason.UNKNOWN_PATH,
        ),
        ("/x.Y/Z", "TraceService or LogsService", RefusalReason.UNKNOWN_PATH),
    ],
)
def test_another_grpc_method_is_unimplemented_with_a_remedy(
    served: Served, method: str, text: str, reason: RefusalReason
) -> None:
    """P12, over gRPC; counted, as over HTTP."""
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel, pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(method)(b"", timeout=10)

    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert text in error.value.details()
    assert served.refused(reason) == 1


@pytest.mark.parametrize(
    ("token", "code"), [("secret", OK), ("secre", Code.UNAUTHENTICATED), (None, Code.UNAUTHENTICATED)]
)
def test_grpc_credentials_are_the_authorization_metadata(
    serve: Callable[..., Served], token: str | None, code: int
) -> None:
    """X4: looked at before the message is read."""
    assert call(serve(token="secret"), REQUEST.SerializeToString(), token=token).code == code


def test_a_grpc_client_that_goes_away_is_counted(served: Served) -> None:
    """Requests add up over gRPC as well."""
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel, pytest.raises(grpc.RpcError):
        next(channel.stream_stream(METHOD[Signal.TRACES])(iter_forever(), timeout=0.3))

    assert served.refused_in_the_end(1, RefusalReason.UNREADABLE_MESSAGE)


def iter_forever() -> Iterator[bytes]:
    """A stream of requests that never has one."""
    threading.Event().wait(1)
    yield b""


def test_unread_messages_are_given_up_when_memory_is_short(served: Served) -> None:
    """L3: above the hard limit, what gRPC's core still buffers goes; the client is asked to come back."""
    with grpc.insecure_channel(f"127.0.0.1:{served.grpc.port}") as channel:
        future = channel.stream_unary(METHOD[Signal.TRACES]).future(iter_forever(), timeout=10)
        assert in_the_end(lambda: served.grpc.reading > 0)
        served.loop.call(served.grpc.refuse_unread)
        error = future.exception()

    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert served.refused(RefusalReason.MEMORY_LIMIT) == 1
