"""The recorded captures as closed traces, through the decoder and the assembler that live traffic goes through."""

from functools import cache
from pathlib import Path

from lanewatch import parts
from lanewatch.collector.assembler import Assembler
from lanewatch.collector.counts import Counts
from lanewatch.collector.decode import decode_protobuf
from lanewatch.collector.recorded import read_recorded
from lanewatch.collector.spans import CloseReason, Trace
from lanewatch.config.keys import Config

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
# The stacks whose spans speak one of the three conventions that this package reads.
STACKS = (
    "langchain_oi", "langchain_traceloop", "llamaindex_oi", "openai_agents_oi", "openai_oi", "openai_responses_oi",
    "openai_traceloop", "smolagents_oi", "openai-v2-latest", "openai-v2-events", "openai-v2-latest-event",
    "openai-agents-traceloop", "mcp-traceloop",
)  # fmt: skip


def captures(*stacks: str) -> list[Path]:
    """The capture folders of some stacks, or of all that are read."""
    return sorted(path for stack in stacks or STACKS for path in (CORPUS / stack).iterdir() if path.is_dir())


@cache
def traces(capture: Path) -> tuple[Trace, ...]:
    """The traces of one capture."""
    closed: list[Trace] = []
    config = Config()
    limits = parts.intake_limits(config).decode
    assembler = Assembler(closed.append, parts.assembler_limits(config), Counts(parts.COUNTS))
    for batch in read_recorded(capture, on_unreadable=_fail):
        assembler.add(decode_protobuf(batch.body, batch.signal, parts.RELEVANCE, limits), 0.0)
    assembler.close_all(CloseReason.SHUTDOWN)
    return tuple(closed)


def _fail(found: object) -> None:
    raise AssertionError(str(found))
