"""Both receivers behind TLS, as an embedding application may set it up."""

import http.client
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from lanewatch.collector.http_connection import HttpLimits
from lanewatch.collector.receive_grpc import GrpcSettings
from lanewatch.collector.spans import Signal

from tests.protocol.clients import METHOD, read_answer
from tests.protocol.export_requests import span, traces
from tests.protocol.served import Served

RAW = traces(span()).SerializeToString()

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """What a server offers."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*certificate)
    return made


def test_http_over_tls_is_served_refused_and_closed(
    serve: Callable[..., Served], certificate: tuple[Path, Path]
) -> None:
    """Requests, refusals that close the connection, and an end without a half-closed TLS."""
    served = serve(tls=context(certificate))
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    connection = http.client.HTTPSConnection("127.0.0.1", served.http.port, context=trusting, timeout=20)
    connection.request("POST", "/v1/traces", RAW, {"Content-Type": "application/x-protobuf"})
    taken = read_answer(connection.getresponse())
    connection.putrequest("POST", "/v1/traces")
    connection.putheader("Content-Length", "1000000000")
    connection.putheader("Content-Type", "application/x-protobuf")
    connection.endheaders()
    refused = read_answer(connection.getresponse())
    connection.close()

    assert (taken.status, refused.status) == (200, 413)
    assert served.sink.items == 1
    assert served.closes_all()


def test_plain_http_on_a_tls_port_is_closed(serve: Callable[..., Served], certificate: tuple[Path, Path]) -> None:
    """Nothing of it is taken for a request."""
    served = serve(tls=context(certificate))
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
        sock.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n\r\n")

        assert b"HTTP" not in sock.recv(1000)


def test_a_handshake_has_a_deadline(serve: Callable[..., Served], certificate: tuple[Path, Path]) -> None:
    """A client that connects and says nothing never gets as far as a request's deadline."""
    served = serve(tls=context(certificate), http=HttpLimits(request_deadline_seconds=0.2))
    with socket.create_connection(("127.0.0.1", served.http.port), timeout=20) as sock:
        assert sock.recv(1000) == b""


def test_grpc_over_tls_is_served(serve: Callable[..., Served], certificate: tuple[Path, Path]) -> None:
    """With the server's certificate, and for clients that trust it."""
    cert, key = (path.read_bytes() for path in certificate)
    served = serve(grpc=GrpcSettings(port=0, tls=grpc.ssl_server_credentials([(key, cert)])))
    with grpc.secure_channel(f"127.0.0.1:{served.grpc.port}", grpc.ssl_channel_credentials(cert)) as channel:
        answer = channel.unary_unary(METHOD[Signal.TRACES])(RAW, timeout=20)

    assert answer == b""
    assert served.sink.items == 1
