"""Expressions of PromQL, written once: how many of something came, and how often.

Invariants: an expression is of one lane or of none (dashboards.lint holds it to that); windows are Grafana's own variables, so
zooming changes no meaning. No expression makes 0 of what is not known: where nothing is scraped there is no result.
"""

PER_MINUTE = "60000 / $__rate_interval_ms"
SERVICE = 'service=~"$service"'
TOOL = 'tool=~"$tool"'
REPLICA = 'job=~"$job", instance=~"$instance"'
REPLICAS = 'job=~".*lanewatch.*"'  # as LanewatchSidecarDown finds them


def counted(metric: str, matchers: str, window: str = "$__range", seconds: str = "$__range_s") -> str:
    """How much each series of a counter grew in a window, its first count included.

    increase() takes the value that a series is born with for what was there before, so it misses the first event of a tool or
    kind. A series that was not there a window ago is all new if its replica was scraped then, or has started since; the
    alerts (lanes.rules.yml) count by the same rule.
    """
    series = f"{metric}{{{matchers}}}"
    known = f"up{{{REPLICAS}}} offset {window} == 1 or time() - lanewatch_started_timestamp_seconds < {seconds}"
    return (
        f"({series} unless {series} offset {window} and on (job, instance) ({known}) or increase({series}[{window}]))"
    )


def total(by: str, metric: str, matchers: str) -> str:
    """Count by some labels over the time shown, the first events of new series included."""
    return f"sum by ({by}) ({counted(metric, matchers)})"


def per_minute(by: str, metric: str, matchers: str) -> str:
    """The same as a rate, in events a minute, at each point of time."""
    inner = counted(metric, matchers, "$__rate_interval", "$__rate_interval_ms / 1000")
    return f"sum by ({by}) ({inner}) * {PER_MINUTE}"


def rate_per_minute(by: str, metric: str, matchers: str) -> str:
    """Events a minute of a counter whose series are all exported as 0 from the start."""
    return f"60 * sum by ({by}) (rate({metric}{{{matchers}}}[$__rate_interval]))"


def share(lane: str, rate: str, what: str = "ratio") -> str:
    """A rate of the last hour over all replicas, as rates.rules.yml records it: its `ratio`, `low`, `high`, `trials`, `unknown`."""
    return f'lanewatch:rate_{what}:1h{{lane="{lane}", rate="{rate}", {SERVICE}}}'


def of_replica(name: str, more: str = "") -> str:
    """A series of the replicas that are chosen."""
    return f"{name}{{{REPLICA}{', ' if more else ''}{more}}}"


def replica_rate(by: str, name: str, more: str = "") -> str:
    """Events a second of a counter of theirs that is exported as 0 from the start."""
    return f"sum by ({by}) (rate({of_replica(name, more)}[$__rate_interval]))"


def replica_grown(name: str, more: str = "") -> str:
    """How much such a counter grew in the time shown, all of its series together."""
    return f"sum(increase({of_replica(name, more)}[$__range]))"
