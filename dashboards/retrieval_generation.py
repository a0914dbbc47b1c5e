"""Retrieval and generation: what passes in either lane, what evidence there is of it, and what the judge says, with intervals.

Of one service at a time, so that every estimate has its interval around it.
"""

from grafana_foundation_sdk.models import dashboard as model

from dashboards import promql
from dashboards.frame import Placed, Row, framed, service
from dashboards.judging import judged, variables
from dashboards.panels import (
    COUNT_THRESHOLDS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SHARE_THRESHOLDS,
    About,
    PanelBuilder,
    Query,
    stacked,
    tile,
    with_interval,
)

EVIDENCE_COLOURS = {"complete": GREEN, "partial": ORANGE, "absent": RED, "redacted": PURPLE, "truncated": GREY}


def build() -> model.Dashboard:
    """The dashboard."""
    return framed(
        "lanewatch-retrieval-generation",
        "Retrieval and generation",
        "What was found and what was answered, each lane by itself; where a judge scores, its means with intervals.",
        [service(every=False), *variables()],
        [
            Row("Retrieval", _lane("retrieval", "retrievals", "Were documents found where some were looked for?")),
            Row("Generation", _lane("generation", "responses", "Did the model end with an answer?")),
            Row("Answers", _answers()),
            *judged(),
        ],
    )


def _lane(lane: str, record: str, question: str) -> list[Placed]:
    rate = f"{lane}_pass"
    told = About("Passed", f"{question} Share of the last hour's traces of which this can be told.", "percentunit")
    untold = About(
        "Could not be told",
        "Traces of the last hour whose evidence is missing or says nothing: neither passed nor failed.",
        "short",
        ("LanewatchEvidenceFalling",),
    )
    evidence = About(
        f"Evidence of {record}",
        f"Traces a minute by the state of their {record}. Only `complete` can be judged whole; `redacted` and `absent` are not the "
        "same: one was hidden, the other never sent.",
        "cpm",
        ("LanewatchEvidenceFalling",),
    )
    states = promql.rate_per_minute("state", "lanewatch_evidence_total", f'record="{record}", {promql.SERVICE}')
    return [
        Placed(tile(told, Query(promql.share(lane, rate)), SHARE_THRESHOLDS), 3, 8),
        Placed(_band("Passed, with its 95 % interval", question, lane, rate, (), top=1), 9, 8),
        Placed(stacked(evidence, Query(states, "{{state}}"), colours=EVIDENCE_COLOURS), 9, 8),
        Placed(tile(untold, Query(promql.share(lane, rate, "unknown")), COUNT_THRESHOLDS), 3, 8),
    ]


def _band(
    title: str, description: str, lane: str, rate: str, alerts: tuple[str, ...], *, top: float | None = None
) -> PanelBuilder:
    about = About(title, description, "percentunit", alerts)
    ratio, low, high = (promql.share(lane, rate, what) for what in ("ratio", "low", "high"))
    return with_interval(about, ratio, low, high, top=top)


def _answers() -> list[Placed]:
    abstained = "Share of the last hour's answers that say that the documents do not tell. Of the lane of retrieval: it failed them."
    refused = "Share of the last hour's answers in which the model refuses. Of the lane of outcome: what was wanted was not reached."
    return [
        Placed(_band("Abstentions", abstained, "retrieval", "abstention", ("LanewatchAbstentionRateChanged",)), 12, 8),
        Placed(_band("Refusals", refused, "outcome", "refusal", ("LanewatchRefusalRateChanged",)), 12, 8),
    ]
