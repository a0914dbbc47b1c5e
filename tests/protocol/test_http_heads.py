"""Paths, methods, content types, and HTTP/1.1 as such (P11, P12, L7)."""

import socket
from collections.abc import Callable

import pytest
from lanewatch.collector.http_connection import HttpLimits
from lanewatch.collector.outcomes import Code, RefusalReason

from tests.protocol.clients import post, read_all, talk
from tests.protocol.export_requests import span, traces
from tests.protocol.served import Served

RAW = traces(span()).SerializeToString()
LINE = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\n"
TYPE = b"Content-Type: application/x-protobuf\r\n"
WHOLE = LINE + TYPE + b"Content-Length: %d\r\n\r\n%b" % (len(RAW), RAW)
LAST = LINE + TYPE + b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(RAW), RAW)


@pytest.mark.parametrize(
    "content_type",
    ["application/x-protobuf", "Application/X-Protobuf", "application/x-protobuf; v=1", "application/x-protobuf ;v=1"],
)
def test_a_content_type_is_known_by_its_name_alone(served: Served, content_type: str) -> None:
    """P11: neither case nor parameters matter."""
    answer = post(served, RAW, content_type=content_type)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-protobuf")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;"])
def test_json_is_known_by_its_name_alone(served: Served, content_type: str) -> None:
    """P11: a charset changes nothing, JSON is UTF-8."""
    answer = post(served, b'{"resourceSpans": []}', content_type=content_type)

    assert (answer.status, answer.raw, answer.headers["content-type"]) == (200, b"{}", "application/json")


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/protobuf", "application/jsonl", "json"])
def test_another_content_type_is_refused_in_json(served: Served, content_type: str | None) -> None:
    """P11: the encoding of the answer is JSON where the request's is unknown."""
    answer = post(served, RAW, content_type=content_type)

    assert (answer.status, answer.headers["content-type"]) == (415, "application/json")
    assert "application/x-protobuf or application/json" in answer.message
    assert served.refused(RefusalReason.MEDIA_TYPE) == 1


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS", "DELETE", "HEAD"])
def test_another_method_is_told_which_one_is_allowed(served: Served, method: str, path: str) -> None:
    """P12: 405 and Allow (RFC 9110, 15.5.6); an answer to HEAD has no body."""
    if method == "HEAD":
        answer = talk(served, b"HEAD %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())

        assert answer.startswith(b"HTTP/1.1 405 ")
        assert b"\r\nAllow: POST\r\n" in answer
        assert answer.endswith(b"\r\n\r\n")
    else:
        found = post(served, b"", method=method, path=path)

        assert (found.status, found.headers["allow"], found.code) == (405, "POST", Code.UNIMPLEMENTED)
    assert served.refused(RefusalReason.METHOD) == 1


@pytest.mark.parametrize(
    "path", ["/", "/v1/traces/", "/v1/trace", "/V1/traces", "//v1/traces", "/v1", "*", "/v1/traces/.."]
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_another_path_is_told_which_ones_there_are(served: Served, method: str, path: str) -> None:
    """P12: 404 with a Status that names the paths."""
    answer = post(served, RAW, method=method, path=path)

    assert (answer.status, answer.code) == (404, Code.UNIMPLEMENTED)
    assert "/v1/traces or /v1/logs" in answer.message
    assert served.refused(RefusalReason.UNKNOWN_PATH) == 1


def test_metrics_are_told_where_to_go(served: Served) -> None:
    """P12: the SDK's default sends them here once an endpoint is set, so the message says how to stop that."""
    answer = post(served, b"", path="/v1/metrics")

    assert answer.status == 404
    assert answer.message == (
        "Lanewatch takes traces and logs: "
        "point OTEL_EXPORTER_OTLP_METRICS_ENDPOINT elsewhere or set OTEL_METRICS_EXPORTER=none"
    )
    assert served.refused(RefusalReason.METRICS_NOT_TAKEN) == 1


@pytest.mark.parametrize("path", ["/v1/traces?a=b", "http://localhost:4318/v1/traces", "http://x/v1/traces?y"])
def test_a_query_and_the_absolute_form_lead_to_the_same_path(served: Served, path: str) -> None:
    """A server must take the absolute form (RFC 9112, 3.2.2)."""
    assert post(served, RAW, path=path).status == 200


def test_a_connection_serves_many_requests_in_order(served: Served) -> None:
    """L7: pipelined, with refused ones among them, of which the short bodies are read and forgotten."""
    wrong = WHOLE.replace(b"/v1/traces", b"/v2/traces")
    answers = talk(served, WHOLE * 3 + wrong + WHOLE + wrong + LAST)

    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"200"] * 3 + [b"404", b"200", b"404", b"200"]
    assert served.sink.items == 5


def test_a_pipeline_waits_for_a_big_request(served: Served) -> None:
    """L7: what comes behind a body that the worker has is answered behind it, also when it is refused."""
    big = traces(*(span(number, name="x" * 500) for number in range(1, 4000))).SerializeToString()
    first = LINE + TYPE + b"Content-Length: %d\r\n\r\n%b" % (len(big), big)
    wrong = WHOLE.replace(b"/v1/traces", b"/v2/traces")
    answers = talk(served, first + wrong + WHOLE + b"nonsense\r\n\r\n")

    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200", b"400"]
    assert served.sink.items == 4000


def test_requests_may_come_byte_by_byte(served: Served) -> None:
    """L7: a head and a body can be cut anywhere by the network."""
    answer = talk(served, *(LAST[at : at + 1] for at in range(len(LAST))))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert served.sink.items == 1


def test_a_client_that_expects_continue_is_told_to(served: Served) -> None:
    """L7: curl does so for bodies above a mebibyte."""
    head, _, body = LAST.partition(b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
        sock.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        first = sock.recv(1000)
        sock.sendall(body)
        rest = read_all(sock)

    assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert rest.startswith(b"HTTP/1.1 200 ")


def test_a_client_that_expects_continue_is_refused_at_once(served: Served) -> None:
    """L7: it hasn't sent its body, and need not."""
    head = LINE + b"Expect: 100-continue\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n"
    answer = talk(served, head)

    assert answer.startswith(b"HTTP/1.1 415 ")
    assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize(
    "raw",
    [
        LINE + TYPE + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        LINE + TYPE + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        LINE + TYPE + b"Content-Length: -1\r\n\r\n",
        LINE + TYPE + b"Content-Length: 0x10\r\n\r\n" + bytes(16),
        LINE + TYPE + b"Transfer-Encoding: gzip, chunked, identity\r\n\r\n0\r\n\r\n",
        LINE + TYPE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        LINE + b"Content Type: x\r\n\r\n",
        LINE + b"X: a\x00b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"POST /v1/traces HTTP/3.7\r\n\r\n",
    ],
    ids=[
        "length and chunked",
        "two lengths",
        "negative length",
        "hexadecimal length",
        "chunked not last",
        "bad chunk",
        "blank in a name",
        "NUL in a value",
        "HTTP/2",
        "TLS",
        "nonsense",
        "HTTP/3.7",
    ],
)
def test_what_is_no_http_or_smuggles_is_refused_and_closed(served: Served, raw: bytes) -> None:
    """L7: nothing behind it may be taken for a request."""
    answer = talk(served, raw + WHOLE)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert served.refused(RefusalReason.MALFORMED_HTTP) == 1
    assert served.sink.items == 0


def test_grpc_on_the_http_port_is_told_of_the_other_port(served: Served) -> None:
    """The commonest mistake with OTLP: the two ports exchanged."""
    answer = talk(served, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    assert b"send gRPC to the gRPC port" in answer


def test_an_offer_of_http2_is_declined_and_the_request_is_taken(served: Served) -> None:
    """RFC 9110, 7.8: Java's HTTP client offers h2c with each first request, and its body must not be lost."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
        sock.sendall(WHOLE.replace(TYPE, TYPE + offer))
        first = sock.recv(1000)
        sock.sendall(LAST)
        rest = read_all(sock)

    assert first.startswith(b"HTTP/1.1 200 ")
    assert rest.startswith(b"HTTP/1.1 200 ")
    assert served.sink.items == 2


def test_connect_is_refused_and_closed(served: Served) -> None:
    """What follows a CONNECT is no HTTP."""
    answer = talk(served, b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n" + WHOLE)

    assert answer.startswith(b"HTTP/1.1 405 ")
    assert served.sink.items == 0


def test_http_1_0_is_answered_and_closed(served: Served) -> None:
    """L7: without keep-alive."""
    answer = talk(served, LAST.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Connection: close\r\n", b""))

    assert b" 200 " in answer.split(b"\r\n")[0]
    assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize(
    "raw",
    [
        LINE + TYPE + b"X-Long: " + b"x" * 300_000 + b"\r\n\r\n",
        LINE + b"".join(b"X-%d: y\r\n" % number for number in range(30_000)) + b"\r\n",
        b"POST /" + b"x" * 300_000 + b" HTTP/1.1\r\n\r\n",
        LINE + TYPE + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: " + b"x" * 300_000,
        LINE + TYPE + b"Transfer-Encoding: chunked\r\n\r\n1;ext=" + b"x" * 300_000,
    ],
    ids=["a header", "many headers", "a path", "a trailer", "a chunk's extension"],
)
def test_what_is_not_body_is_bounded_too(served: Served, raw: bytes) -> None:
    """A head, a trailer or a chunk's border can be endless as well."""
    answer = talk(served, raw)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert (b"\r\nContent-Type: application/x-protobuf\r\n" in answer) == (TYPE in raw)
    assert served.refused(RefusalReason.HEADERS_TOO_LARGE) == 1


def test_an_answer_has_a_date_and_no_product(served: Served) -> None:
    """RFC 9110, 6.6.1 wants a date; X6: nothing tells what runs here, or which version."""
    answer = post(served, RAW)

    assert str(answer.headers["date"]).endswith(" GMT")
    assert set(answer.headers) == {"date", "content-type", "content-length"}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["Authorization: Bearer secret"], 200),
        (["authorization: bearer secret"], 200),
        ([], 401),
        (["Authorization: Bearer"], 401),
        (["Authorization: Bearer secre"], 401),
        (["Authorization: Bearer secrets"], 401),
        (["Authorization: Basic secret"], 401),
        (["Authorization: Bearer secret", "Authorization: Bearer secret"], 401),
    ],
)
def test_a_token_must_be_the_whole_token(
    serve: Callable[..., Served], given: list[str], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """X4: a prefix, another scheme, or two of them are no credentials; what was sent is never logged."""
    served = serve(token="secret")
    head = LAST.replace(TYPE, TYPE + "".join(f"{line}\r\n" for line in given).encode())
    answer = talk(served, head)

    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert (b"\r\nWWW-Authenticate: Bearer\r\n" in answer) == (status == 401)
    assert "secre" not in caplog.text


def test_a_token_in_the_query_is_none(serve: Callable[..., Served]) -> None:
    """X4: queries end up in logs."""
    assert post(serve(token="secret"), RAW, path="/v1/traces?authorization=Bearer%20secret").status == 401


def test_a_connection_above_the_limit_is_turned_away(serve: Callable[..., Served]) -> None:
    """L4: 503 with advice; the others are served as before."""
    served = serve(http=HttpLimits(max_connections=2))
    held = [socket.create_connection(("127.0.0.1", served.http.port), timeout=20) for _ in range(2)]
    refused = talk(served)
    for sock in held:
        sock.sendall(LAST)

    assert refused.startswith(b"HTTP/1.1 503 ")
    assert [read_all(sock)[:12] for sock in held] == [b"HTTP/1.1 200"] * 2
    assert served.refused(RefusalReason.CONNECTION_LIMIT) == 1
    for sock in held:
        sock.close()
