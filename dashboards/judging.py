"""Rows of what the judge says, lane by lane: means with intervals, how much could be judged, and whether it can be trusted."""

from collections.abc import Iterator

from grafana_foundation_sdk.builders import dashboard
from lanewatch.monitors.judge.metrics import METRICS

from dashboards import promql
from dashboards.frame import Placed, Row, query_variable
from dashboards.panels import (
    BLUE,
    COUNT_THRESHOLDS,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    About,
    Query,
    lines,
    ranking,
    rows,
    stacked,
    with_interval,
)

LANES = ("retrieval", "generation", "outcome")  # those that a judge scores
SHIFTED = ("LanewatchScoreMeanShifted",)
COVERAGE = ("LanewatchScoreCoverageFalling", "LanewatchJudgeFailing", "LanewatchJudgeBudgetExhausted")
CANARIES = ("LanewatchJudgeCanaryDrift", "LanewatchJudgeCanariesUnknown")
OUTCOMES = {
    "scored": GREEN,
    "unscored": RED,
    "over_budget": ORANGE,
    "throttled": PURPLE,
    "not_sampled": BLUE,
    "not_applicable": GREY,
}


def variables() -> list[dashboard.QueryVariable]:
    """Which scores are shown, a variable a lane: all of them unless told otherwise."""
    return [
        query_variable(
            f"{lane}_score",
            f"{lane.capitalize()} score",
            f'label_values(lanewatch_score_count{{lane="{lane}", {promql.SERVICE}}}, metric)',
        )
        for lane in LANES
    ]


def judged() -> Iterator[Row]:
    """A row a lane, and one of the judge itself."""
    for lane in LANES:
        yield Row(
            f"{lane.capitalize()}: what the judge says", _lane(lane), folded=lane == "outcome"
        )  # one metric, of a model
    yield Row("Can the judge be trusted?", _trust())


def _lane(lane: str) -> list[Placed]:
    of = f'lane="{lane}", {promql.SERVICE}'
    shown = f'{of}, metric=~"$' + f'{lane}_score"'
    metrics = f'metric=~"{"|".join(sorted(one.name for one in METRICS if one.lane == lane))}"'
    its = lane.capitalize()
    table = About(
        f"{its}: scores of the last hour",
        "Means of all traffic, estimated from what was drawn (Hájek), with their 95 % intervals; `worth`: of how many equally weighted "
        "scores; `coverage`: the share of the traffic that they stand for, of the service that has least of it: what failed or waits is "
        "missing. Each metric and evaluator is a series of its own; support signals are no faithfulness.",
        "short",
        SHIFTED,
    )
    coverage = About(
        f"{its}: coverage of judging",
        "Scored among those that could have been and have ended, by metric, over all services. Where it is low, the missing ones may be the bad ones, "
        "and the mean is not to be trusted.",
        "percentunit",
        COVERAGE,
    )
    became = About(
        f"{its}: what became of evaluations",
        "A minute, by outcome; every trace that comes up ends in exactly one. None of them but `scored` is a number.",
        "cpm",
        COVERAGE,
    )
    why = About(f"{its}: why there is no score", "In the time shown, by metric, outcome and reason.", "short", COVERAGE)
    low = About(
        f"{its}: scores up to 0.5",
        "A minute, by metric, as they were judged: risky traces are judged more often, so this is no estimate of all traffic. A point on "
        "the curve is the id of a trace: `lanewatch show TRACE_ID`.",
        "cpm",
        SHIFTED,
    )
    band = About(
        f"{its}: mean of ${lane}_score",
        "Estimated for all traffic of the last hour, with its 95 % interval.",
        "short",
        SHIFTED,
    )
    columns = [
        (heading, Query(f"max by (metric, evaluator) (lanewatch:score_{what}:1h{{{of}}})"))
        for heading, what in (("mean", "mean"), ("low", "low"), ("high", "high"), ("worth", "n_eff"))
    ]
    columns.append(("coverage", Query(f"min by (metric, evaluator) (lanewatch:score_coverage:1h{{{of}}})")))
    mean, lowest, highest = (
        f"max by (metric) (lanewatch:score_{what}:1h{{{shown}}})" for what in ("mean", "low", "high")
    )
    ended = promql.rate_per_minute("outcome", "lanewatch_evaluations_total", metrics)
    unscored = f'sum by (metric, outcome, reason) (increase(lanewatch_evaluations_total{{{metrics}, outcome!="scored"}}[$__range]))'
    few = f'sum by (metric) (rate(lanewatch_score_bucket{{{of}, le="0.5"}}[$__rate_interval]))'
    # The exemplars of the buckets below are asked for beside those of the last one; they add nothing.
    fewer = f'sum by (metric) (rate(lanewatch_score_bucket{{{of}, le=~"0.[0-4]"}}[$__rate_interval]))'
    return [
        Placed(rows(table, columns, sort="worth"), 12, 8),
        Placed(
            lines(
                coverage,
                Query(f"lanewatch:evaluations_coverage:1h{{{metrics}}}", "{{metric}}"),
                high=1,
                thresholds=((None, RED), (0.2, ORANGE), (0.5, GREEN)),
            ),
            12,
            8,
        ),
        Placed(stacked(became, Query(ended, "{{outcome}}"), colours=OUTCOMES), 8, 8),
        Placed(
            ranking(
                why,
                Query(f"topk(12, {unscored} > 0)", "{{metric}}: {{outcome}}, {{reason}}"),
                thresholds=((None, BLUE),),
            ),
            8,
            8,
        ),
        Placed(lines(low, Query(f"60 * ({few} or {fewer} * 0)", "{{metric}}", exemplar=True)), 8, 8),
        Placed(
            with_interval(band, mean, lowest, highest, name="mean", repeat=f"{lane}_score", across=3),
            24,
            8,
        ),
    ]


def _trust() -> list[Placed]:
    """Of the judge, which is of no lane; each metric by itself."""
    drift = About(
        "Anchors: has the judge changed?",
        "Mean change of the scores of its anchors against their reference, by metric. Beyond chance, scores tell of the judge and not of "
        "traffic: alerts on scores are silent then.",
        "short",
        CANARIES,
    )
    shifted = About(
        "Judges that changed",
        "1 where the anchors shifted beyond chance, 0 where not; none where that is not known.",
        "short",
        CANARIES,
    )
    age = About("Age of the anchors' last round", "By metric.", "s", CANARIES)
    agreement = About(
        "Agreement of two judges",
        "On the same samples: kappa of yes and no, or correlation, with the ends of its 95 % interval.",
        "short",
    )
    length = About(
        "Favours long answers?",
        "Rank correlation of score and length of the answer, with the ends of its 95 % interval.",
        "short",
    )
    unstable = About(
        "Verdicts that do not hold",
        "In the time shown: verdicts that another order of the same contexts changed, and samples with text that addresses the judge.",
    )
    grown = "sum by (metric) (increase(lanewatch_judge_{}_total[$__range])) > 0"
    return [
        Placed(
            ranking(
                shifted,
                Query("max by (metric) (lanewatch_judge_drift)", "{{metric}}"),
                thresholds=((None, GREEN), (1, RED)),
                empty="not known",
            ),
            6,
            8,
        ),
        Placed(lines(drift, Query("max by (metric) (lanewatch_judge_canary_shift)", "{{metric}}"), low=None), 10, 8),
        Placed(
            ranking(
                age,
                Query("max by (metric) (lanewatch_judge_canary_age_seconds)", "{{metric}}"),
                thresholds=((None, BLUE), (86400, ORANGE)),
                empty="no round yet",
            ),
            8,
            8,
        ),
        Placed(
            ranking(
                agreement,
                Query(
                    "max by (metric, statistic, bound) (lanewatch_judge_agreement)",
                    "{{metric}}: {{statistic}}, {{bound}}",
                ),
                thresholds=((None, BLUE),),
                empty="one judge",
            ),
            8,
            7,
        ),
        Placed(
            ranking(
                length,
                Query("max by (metric, bound) (lanewatch_judge_length_correlation)", "{{metric}}, {{bound}}"),
                thresholds=((None, BLUE),),
                empty="not known",
                low=-1,
                high=1,
            ),
            8,
            7,
        ),
        Placed(
            ranking(
                unstable,
                Query(grown.format("unstable"), "{{metric}}: unstable"),
                Query(grown.format("injection_suspected"), "{{metric}}: addresses the judge"),
                thresholds=COUNT_THRESHOLDS,
            ),
            8,
            7,
        ),
    ]
