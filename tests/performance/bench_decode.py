"""What decoding costs: CPU a span beside the plain decode of the same bytes in the same run, and peak memory.

    python tests/performance/bench_decode.py [--rounds N]

Plain means opentelemetry-proto's request and a loop that makes dicts of all attributes. Figures are CPU time of this
process, best of the rounds, what frees the memory again included. The machine may be noisy: compare the ratios.
"""

import argparse
import base64
import gc
import gzip
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from google.protobuf import json_format  # type: ignore[import-untyped,unused-ignore]
from lanewatch.collector.decode import DecodeLimits, decode_protobuf
from lanewatch.collector.decode_json import decode_json
from lanewatch.collector.relevance import Relevance
from lanewatch.collector.spans import Decoded, Signal
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

MiB = 1 << 20
CORPUS = Path(__file__).resolve().parents[1] / "corpus"
STACKS = ("openai_oi", "langchain_oi", "openai_traceloop", "openai-v2-latest", "langfuse", "google-adk", "strands")
N_IRRELEVANT = 300
RELEVANCE = Relevance(
    keys=tuple(
        key.encode()
        for key in (
            *("gen_ai.", "openinference.", "llm.", "traceloop.", "langfuse.", "langsmith.", "mlflow.", "logfire."),
            *("ai.operationId", "ai.observability.", "crewai.", "haystack.", "pydantic_ai.", "gcp.vertex.agent."),
            *("executor.id", "edge_group.", "event_loop.cycle_id", "az.namespace", "span.type", "genkit:", "lk."),
            *("lmnr.", "voltagent.", "mcp.", "litellm.", "chroma", "pinecone", "qdrant", "weaviate", "milvus"),
        )
    ),
    scopes=(
        *("openinference.", "pydantic-ai", "agent_framework", "llamaindex.", "semantic_kernel", "autogen-core"),
        *("openlit.", "litellm", "mcp-python-sdk", "fastmcp", "gcp.vertex.agent", "strands", "crewai.", "langfuse-sdk"),
        *("opentelemetry.instrumentation.openai", "opentelemetry.instrumentation.langchain", "ai", "haystack"),
    ),
    resources=(("telemetry.sdk.name", "openlit"),),
)
LIMITS = DecodeLimits()


def pair(key: str, value: str | int) -> KeyValue:
    """An attribute."""
    return KeyValue(
        key=key, value=AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value)
    )


def http_spans(n: int) -> list[Span]:
    """Server spans of 12 attributes, a quarter of them roots, as the FastAPI instrumentation makes them."""
    seeded = random.Random(1)
    return [
        Span(
            trace_id=seeded.randbytes(16),
            span_id=seeded.randbytes(8),
            parent_span_id=seeded.randbytes(8) if i % 4 else b"",
            flags=0x101,
            name="GET /items/{item_id}",
            kind=Span.SPAN_KIND_SERVER,
            start_time_unix_nano=1_800_000_000_000_000_000 + i,
            end_time_unix_nano=1_800_000_000_005_000_000 + i,
            attributes=[
                pair("http.request.method", "GET"),
                pair("url.scheme", "https"),
                pair("url.path", f"/items/{seeded.randrange(10**6)}"),
                pair("http.route", "/items/{item_id}"),
                pair("server.address", "shop.example.org"),
                pair("server.port", 443),
                pair("network.protocol.version", "1.1"),
                pair("client.address", f"10.0.{seeded.randrange(256)}.{seeded.randrange(256)}"),
                pair("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"),
                pair("http.response.status_code", 200),
                pair("thread.id", seeded.randrange(10**15)),
                pair("thread.name", "AnyIO worker thread"),
            ],
        )
        for i in range(n)
    ]


def request(spans: Iterable[Span]) -> bytes:
    """One block of a scope that no convention knows."""
    made = ExportTraceServiceRequest()
    block = made.resource_spans.add()
    block.resource.attributes.extend([pair("service.name", "shop"), pair("telemetry.sdk.language", "python")])
    part = block.scope_spans.add()
    part.scope.name = "opentelemetry.instrumentation.fastapi"
    part.spans.extend(spans)
    return bytes(made.SerializeToString())


def recorded() -> list[bytes]:
    """Requests of agents as their exporters sent them."""
    paths = [path for stack in STACKS for path in sorted((CORPUS / stack / "01_right_tool").glob("request-*.pb.gz"))]
    return [gzip.decompress(path.read_bytes()) for path in paths]


def spans_of(body: bytes) -> list[Span]:
    """All spans of a request."""
    blocks = ExportTraceServiceRequest.FromString(body).resource_spans
    return [span for block in blocks for part in block.scope_spans for span in part.spans]


def plain(body: bytes) -> list[dict[str, Any]]:
    """What any receiver in Python has to do to see attributes."""
    return [{each.key: plain_value(each.value) for each in span.attributes} for span in spans_of(body)]


def plain_value(value: AnyValue) -> Any:
    """An AnyValue as plain Python."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain_value(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: plain_value(each.value) for each in value.kvlist_value.values}
    return kind and getattr(value, kind)


def as_json(body: bytes) -> bytes:
    """OTLP/JSON of the same spans."""
    document = json_format.MessageToDict(ExportTraceServiceRequest.FromString(body), use_integers_for_enums=True)
    for block in document["resourceSpans"]:
        for part in block["scopeSpans"]:
            for span in part["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    span[name] = base64.b64decode(span.get(name, "")).hex()
    return json.dumps(document, separators=(",", ":")).encode()


def cpu_us(decode: Callable[[bytes], object], bodies: list[bytes], n_spans: int, rounds: int) -> float:
    """Best CPU microseconds a span."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        for _ in range(5):
            for body in bodies:
                decode(body)
        best = min(best, (time.process_time() - start) / 5)
    return best / n_spans * 1e6


def protobuf(body: bytes) -> Decoded:
    """The decoder with the default limits."""
    return decode_protobuf(body, Signal.TRACES, RELEVANCE, LIMITS)


def otlp_json(body: bytes) -> Decoded:
    """The JSON decoder with the default limits."""
    return decode_json(body, Signal.TRACES, RELEVANCE, LIMITS)


def peak_mib(name: str) -> None:
    """Print how far memory grows while 64 MiB are decoded. In a process of its own, since it never shrinks again."""
    spans = http_spans(100) if name == "irrelevant" else [span for body in recorded() for span in spans_of(body)]
    one = request(spans)
    body = one * (64 * MiB // len(one))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    decoded = decode_protobuf(body, Signal.TRACES, RELEVANCE, DecodeLimits(max_spans_per_request=1 << 30))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"  {name:32} {grown:6.0f} MiB for {len(decoded.spans)} spans and {len(decoded.skeletons)} skeletons")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        peak_mib(arguments.peak)
        return

    agents = recorded()
    agent_spans = [span for body in agents for span in spans_of(body)]
    http = http_spans(N_IRRELEVANT)
    odd = [Span.FromString(span.SerializeToString()) for span in http]
    for span in odd:
        span.trace_state = "vendor=1"
    cases = [
        (f"irrelevant, {N_IRRELEVANT} a request", [request(http)]),
        ("  with trace state", [request(odd)]),
        ("  10 agent spans among them", [request([*http, *agent_spans[:10]])]),
        (f"agent, {len(agent_spans) / len(agents):.1f} a request, recorded", agents),
        (f"agent, {len(agent_spans)} a request", [request(agent_spans)]),
    ]
    print("CPU us a span               protobuf     plain     ratio      JSON   attributes     bytes")
    for name, bodies in cases:
        spans = [span for body in bodies for span in spans_of(body)]
        n = len(spans)
        ours, base = (cpu_us(decode, bodies, n, arguments.rounds) for decode in (protobuf, plain))
        in_json = cpu_us(otlp_json, [as_json(body) for body in bodies], n, arguments.rounds)
        attributes = sum(len(span.attributes) for span in spans) / n
        size = sum(span.ByteSize() for span in spans) / n
        print(f"{name:32}{ours:6.2f} {base:9.2f} {base / ours:8.1f} x {in_json:8.2f} {attributes:11.1f} {size:9.0f}")
    print("peak memory of a request of 64 MiB, the result included, the body not", flush=True)
    for name in ("irrelevant", "agent"):
        subprocess.run([sys.executable, __file__, "--peak", name], check=True)


if __name__ == "__main__":
    main()
