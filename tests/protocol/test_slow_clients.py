"""Clients that are slow on purpose, or gone: each is given up within its deadline, and the others don't notice (L5)."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from lanewatch.collector.http_connection import HttpLimits
from lanewatch.collector.outcomes import RefusalReason

from tests.protocol.clients import OK, Via, read_all, send
from tests.protocol.export_requests import span, traces
from tests.protocol.served import Served, in_the_end

QUICK = HttpLimits(request_deadline_seconds=0.2, idle_timeout_seconds=0.2, linger_seconds=0.2)
RAW = traces(span()).SerializeToString()
HEAD = (
    b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n"
    % len(RAW)
)


@contextlib.contextmanager
def connected(served: Served, n: int = 1) -> Iterator[list[socket.socket]]:
    """Some connections to the HTTP port."""
    with contextlib.ExitStack() as stack:
        at = ("127.0.0.1", served.http.port)
        yield [stack.enter_context(socket.create_connection(at, timeout=20)) for _ in range(n)]


@pytest.mark.parametrize(
    "sent", [b"P", HEAD[:40], HEAD, HEAD + RAW[:5]], ids=["a byte", "half a head", "a head", "half a body"]
)
def test_a_request_that_does_not_come_is_given_up(serve: Callable[..., Served], sent: bytes) -> None:
    """L5: at the deadline of the whole request, with 408."""
    served = serve(http=QUICK)
    with connected(served) as (sock,):
        sock.sendall(sent)
        answer = read_all(sock)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert served.refused(RefusalReason.REQUEST_TIMEOUT) == 1


def test_a_byte_now_and_then_does_not_move_the_deadline(serve: Callable[..., Served]) -> None:
    """L5: this is what slow loris does; a deadline for each byte would never end."""
    served = serve(http=QUICK)
    with connected(served) as (sock,):
        sock.settimeout(0.02)
        answer = b""
        for byte in HEAD + RAW:
            with contextlib.suppress(OSError):
                sock.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                answer = sock.recv(100)
                break

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_five_hundred_slow_clients_do_not_hold_up_a_quick_one(served: Served) -> None:
    """L5: they hold no bytes of the budget that they haven't sent."""
    head = HEAD.replace(b"Content-Length: %d" % len(RAW), b"Content-Length: 60000000")
    with connected(served, 500) as slow:
        for sock in slow:
            sock.sendall(head + b"x")
        answers = [send(served, via, traces(span())).code for via in Via]

        assert answers == [OK] * 3
        assert served.http.connections >= 500


def test_a_connection_without_a_request_is_closed_in_silence(serve: Callable[..., Served]) -> None:
    """Neither a new one nor one that has had its answer stays for ever."""
    served = serve(http=QUICK)
    with connected(served, 2) as (new, used):
        used.sendall(HEAD + RAW)

        assert read_all(new) == b""
        assert read_all(used).startswith(b"HTTP/1.1 200 ")
    assert served.refused_in_the_end(0, *RefusalReason)


def test_between_requests_the_idle_timeout_counts(serve: Callable[..., Served]) -> None:
    """An exporter that sends every five seconds keeps its connection, however short a request's deadline is."""
    patient = serve(http=HttpLimits(request_deadline_seconds=0.2, idle_timeout_seconds=60))
    with connected(patient) as (sock,):
        sock.sendall(HEAD + RAW)
        answers = [sock.recv(1000)]
        time.sleep(0.5)
        sock.sendall(HEAD + RAW)
        answers.append(sock.recv(1000))

    hasty = serve(http=HttpLimits(request_deadline_seconds=60, idle_timeout_seconds=0.2))
    with connected(hasty) as (sock,):
        sock.sendall(HEAD + RAW)
        answers.append(read_all(sock))

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * 3


def test_a_client_that_reads_late_has_all_its_answers(served: Served) -> None:
    """While answers aren't read no more is read; once they are, it goes on."""
    n = 20_000
    last = (HEAD + RAW).replace(b"Host: x", b"Connection: close")
    with connected(served) as (sock,):
        sending = threading.Thread(target=sock.sendall, args=((HEAD + RAW) * n + last,))
        sending.start()
        time.sleep(0.5)
        answers = read_all(sock)
        sending.join()

    assert answers.count(b"HTTP/1.1 200 OK\r\n") == served.sink.items == n + 1


def test_a_client_that_does_not_read_its_answers_is_closed(serve: Callable[..., Served]) -> None:
    """L5: answers pile up in the kernel's buffers and ours; then no more is read, and then the connection ends."""
    served = serve(http=QUICK)
    wrong = (HEAD.replace(b"/v1/traces", b"/v2/traces") + RAW) * 100
    with connected(served) as (sock,):
        sock.settimeout(0.05)
        sock.sendall(wrong)
        assert in_the_end(lambda: served.http.connections > 0)
        while served.http.connections:
            with contextlib.suppress(OSError):  # no room, or closed at last
                sock.sendall(wrong)

    assert served.refused(RefusalReason.UNKNOWN_PATH) > 100


def test_a_client_that_does_not_close_after_its_answer_is_closed(serve: Callable[..., Served]) -> None:
    """The patience after a refusal has an end."""
    served = serve(http=QUICK)
    with connected(served) as (sock,):
        sock.sendall(b"nonsense\r\n\r\n")
        answer = read_all(sock)

        assert answer.startswith(b"HTTP/1.1 400 ")
        assert served.closes_all()


def test_an_answer_is_seen_by_a_client_that_still_sends(serve: Callable[..., Served]) -> None:
    """Closing with unread bytes would reset the connection, and the answer would be lost on the way."""
    served = serve()
    head = HEAD.replace(b"Content-Length: %d" % len(RAW), b"Content-Length: 100000000")
    with connected(served) as (sock,):
        sock.sendall(head)
        for _ in range(20):
            sock.sendall(bytes(100_000))
        sock.shutdown(socket.SHUT_WR)
        answer = read_all(sock)

    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("sent", [HEAD[:40], HEAD, HEAD + RAW[:5]], ids=["half a head", "a head", "half a body"])
def test_a_request_whose_client_goes_away_is_counted(serve: Callable[..., Served], sent: bytes) -> None:
    """Requests add up: accepted, refused, or abandoned; the bytes it held come back (the fixture looks)."""
    served = serve()
    with connected(served) as (sock,):
        sock.sendall(sent)

    assert served.refused_in_the_end(1, RefusalReason.ABANDONED)


def test_a_client_that_goes_away_between_requests_is_none(served: Served) -> None:
    """Nothing was lost."""
    with connected(served) as (sock,):
        sock.sendall(HEAD + RAW)
        sock.recv(100)

    assert served.refused_in_the_end(0, *RefusalReason)
    assert served.sink.items == 1
