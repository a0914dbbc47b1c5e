"""Rows of the judge as a process: whether it runs, what waits for it, what it may spend and what it costs; of no lane.

By metric, as the budget is; nothing is added up over metrics: `all` is what the sidecar itself gives as the sum.
"""

from dashboards import promql
from dashboards.frame import Placed
from dashboards.panels import GREEN, ORANGE, RED, About, Query, lines, ranking, stacked, tile


def judging_process() -> list[Placed]:
    """Whether it runs, what waits, what may be spent."""
    up = About(
        "Judging processes up",
        "Replicas whose judging process runs and answers, and all of them.",
        alerts=("LanewatchJudgeDown",),
    )
    oldest = About(
        "Oldest job", "How long the oldest drawn trace has waited to be judged.", "s", ("LanewatchJudgeQueueOld",)
    )
    asked = About(
        "Nobody is asked, because",
        "1 for a cause: the endpoint refuses the key, is down, or is too slow.",
        alerts=("LanewatchJudgeAuthFailing",),
    )
    jobs = About("Jobs in the store", "Drawn traces by their state.", alerts=("LanewatchJudgeQueueOld",))
    memory = About(
        "Memory of the judging process", "Resident, by replica; judge.worker_memory_bytes is its limit.", "bytes"
    )
    spent = About(
        "Budget spent",
        "Of what may be spent in the hour or the day. At 1 nothing more is judged by that metric.",
        "percentunit",
        ("LanewatchJudgeBudgetExhausted",),
    )
    running = f"{promql.of_replica('lanewatch_judge_worker_up')}"
    return [
        Placed(
            tile(up, Query(f"sum({running}) / count({running})"), ((None, RED), (1, GREEN)), empty="no judge"), 4, 7
        ),
        Placed(
            tile(
                oldest,
                Query(f"max({promql.of_replica('lanewatch_judge_queue_oldest_seconds')})"),
                ((None, GREEN), (600, ORANGE), (1800, RED)),
                empty="no judge",
            ),
            4,
            7,
        ),
        Placed(
            ranking(
                asked,
                Query(f"max by (cause) ({promql.of_replica('lanewatch_judge_circuit_open')}) > 0", "{{cause}}"),
                thresholds=((None, RED),),
            ),
            4,
            7,
        ),
        Placed(
            stacked(jobs, Query(f"sum by (state) ({promql.of_replica('lanewatch_judge_queue_jobs')})", "{{state}}")),
            12,
            7,
        ),
        Placed(
            lines(
                memory,
                Query(
                    f"max by (instance) ({promql.of_replica('lanewatch_judge_worker_memory_bytes')})", "{{instance}}"
                ),
            ),
            12,
            7,
        ),
        Placed(
            lines(
                spent,
                Query(
                    f"max by (metric, period) ({promql.of_replica('lanewatch_judge_budget_spent_dollars')} / ({promql.of_replica('lanewatch_judge_budget_limit_dollars')} > 0))",
                    "{{metric}}, a {{period}}",
                ),
                thresholds=((None, GREEN), (0.8, ORANGE), (1, RED)),
            ),
            12,
            7,
        ),
    ]


def judging_costs() -> list[Placed]:
    """What an endpoint is asked and paid; empty where no model is configured."""
    calls = About("Calls of the endpoint", "A minute, by metric and how they ended.", "cpm", ("LanewatchJudgeFailing",))
    cost = About("Cost", "Dollars an hour, by metric, of calls with a known price.", "currencyUSD")
    tokens = About("Tokens", "A minute, by metric and direction.", "cpm")
    unpriced = About("Calls without a price", "In the time shown: they are in no sum of dollars. Set prices.MODEL.")
    return [
        Placed(
            stacked(
                calls,
                Query(
                    "60 * " + promql.replica_rate("metric, outcome", "lanewatch_judge_calls_total"),
                    "{{metric}}: {{outcome}}",
                ),
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                cost,
                Query("3600 * " + promql.replica_rate("metric", "lanewatch_judge_cost_dollars_total"), "{{metric}}"),
            ),
            12,
            7,
        ),
        Placed(
            stacked(
                tokens,
                Query(
                    "60 * " + promql.replica_rate("metric, direction", "lanewatch_judge_tokens_total"),
                    "{{metric}}: {{direction}}",
                ),
            ),
            12,
            7,
        ),
        Placed(
            ranking(
                unpriced,
                Query(
                    f"sort_desc(sum by (metric) (increase({promql.of_replica('lanewatch_judge_unpriced_calls_total')}[$__range])) > 0)",
                    "{{metric}}",
                ),
            ),
            12,
            7,
        ),
    ]
