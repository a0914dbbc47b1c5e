"""What the judging process is told at its start, and what the sidecar draws by: the settings, as the parts take them.

The worker gets its settings as one JSON line on standard input: an argument or a variable of the environment could be read
by whoever lists processes, and there are keys among them.
"""

import msgspec

from lanewatch.monitors.efficiency import Price

DAY_SECONDS = 86_400.0
MIB = 2**20


class EndpointSettings(msgspec.Struct, frozen=True):
    """An OpenAI-compatible endpoint. Without a base URL nobody is asked."""

    base_url: str = ""
    model: str = ""
    api_key: str | None = None
    embeddings_model: str = ""

    def __repr__(self) -> str:
        """Without the key, which must not get into a log by an error's text."""
        return f"EndpointSettings({self.base_url!r}, {self.model!r})"

    def __bool__(self) -> bool:
        return bool(self.base_url and self.model)


class AskingSettings(msgspec.Struct, frozen=True):
    """How an endpoint is asked. `max_retries` are of one sample by one metric, over all of its calls."""

    timeout_seconds: float = 30.0
    max_tokens: int = 4096
    max_retries: int = 2
    max_in_flight: int = 4


class Budgets(msgspec.Struct, frozen=True):
    """What judging may cost; 0 is no limit. Hour and day are of one metric. Where a price is not known tokens stand in: by default as
    many as the dollars would buy at 2.50 a million.
    """

    dollars_per_hour: float = 1.0
    dollars_per_day: float = 10.0
    total_dollars_per_day: float = 20.0
    tokens_per_minute: int = 60_000
    unpriced_tokens_per_hour: int = 400_000
    unpriced_tokens_per_day: int = 4_000_000


class Rates(msgspec.Struct, frozen=True):
    """Shares of the traces of each stratum that are drawn, and samples a minute of one metric."""

    rate: float = 0.05
    destructive_rate: float = 1.0
    diverging_rate: float = 1.0
    failing_rate: float = 1.0
    refusing_rate: float = 1.0
    per_minute: int = 60


class StoreLimits(msgspec.Struct, frozen=True):
    """Bounds of the store: jobs that wait, bytes of the file, and how long anything is kept."""

    max_queue: int = 10_000
    max_bytes: int = 256 * MIB
    retention_seconds: float = 7 * DAY_SECONDS


class WorkerSettings(msgspec.Struct, frozen=True):
    """Everything that the judging process needs. `metrics` are names; empty takes all that can be done here."""

    store: str
    metrics: tuple[str, ...] = ()
    endpoint: EndpointSettings = EndpointSettings()
    second: EndpointSettings = EndpointSettings()
    asking: AskingSettings = AskingSettings()
    budgets: Budgets = Budgets()
    prices: dict[str, Price] = {}
    limits: StoreLimits = StoreLimits()
    topics: tuple[str, ...] = ()
    memory_bytes: int = 1024 * MIB
    canary_every_seconds: float = 6 * 3600.0
    canaries: str = ""
