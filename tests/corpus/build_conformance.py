"""Write the conformance recordings that Lanewatch ships: `python tests/corpus/build_conformance.py`.

One stack for each convention, and of its captures those whose shape an adapter may stumble over. All of them are one
archive, with no time or owner in it, so that the same captures always give the same bytes.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "collector" / "lanewatch" / "conformance" / "recordings.tar.gz"
STACKS = {
    "openinference": "langchain_oi",
    "openinference (Responses)": "openai_responses_oi",
    "traceloop": "openai_traceloop",
    "otel_genai": "openai-v2-latest",
    "google_adk": "google-adk",
    "litellm": "litellm-otel-latest",
    "pydantic_ai": "pydantic-ai-fmt6",
    "strands": "strands",
    "vercel": "vercel-ai-json",
}
SHAPES = {
    "03_parallel": "parallel calls",
    "03b_parallel_same": "equal calls at once",
    "17_same_args_parallel": "equal calls at once",
    "04_retry": "a retry",
    "05_tool_error": "a tool's error",
    "08_dropped": "a blocked call",
    "11_multi_turn": "multi-turn",
    "12_hard_args": "unusual arguments",
    "14a_bad_json": "cut JSON",
    "18a_reused_ids": "ids used again",
    "18b_empty_ids": "no ids",
    "19_empty_args": "empty arguments",
    "22_parallel_slow_first": "results out of order",
}


def archive() -> bytes:
    """The uncompressed archive: CONVENTION/SHAPE/NAME of each body."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for convention, stack in STACKS.items():
            for scenario, shape in SHAPES.items():
                for path in sorted((HERE / stack / scenario).glob("*.gz")):
                    body = gzip.decompress(path.read_bytes())
                    member = tarfile.TarInfo(f"{convention}/{shape}/{path.name.removesuffix('.gz')}")
                    member.size = len(body)
                    tar.addfile(member, io.BytesIO(body))
    return out.getvalue()


if __name__ == "__main__":
    packed = gzip.compress(archive(), 9, mtime=0)
    TARGET.write_bytes(packed)
    sys.stdout.write(f"{TARGET.name}: {len(packed) / 1024:.0f} KiB\n")
