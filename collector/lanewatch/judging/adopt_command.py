"""`lanewatch judge adopt`: the change of a judge was wanted; its last whole round of canaries is what later ones are held against.

It leaves a note in the store, which the running sidecar (or the next one) takes up within seconds.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from lanewatch.config.keys import Config
from lanewatch.judging.check_command import CheckFault
from lanewatch.monitors.judge.canaries.watch import WatchState
from lanewatch.monitors.judge.store_facts import ADOPT, CANARIES, read_fact, write_fact
from lanewatch.monitors.judge.store_file import NAME, StoreFault, open_store
from lanewatch.shown_text import shown


def adopt(config: Config, named: Sequence[str]) -> tuple[str, ...]:
    """Ask for it, for these metrics or for all that drift; the metrics it was asked for. Raises CheckFault."""
    folder = config.judge.store
    if not folder:
        raise CheckFault(
            "judge.store is not set: what the sidecar knows of its judge lives as long as the process. Restart it, and its "
            "first round is the reference"
        )
    if not (Path(folder) / NAME).is_file():
        raise CheckFault(f"there is no store in {shown(folder)}: has a sidecar run with this judge.store?")
    try:
        db = open_store(Path(folder), config.judge.max_store_bytes, mend=False)
        try:
            kept = read_fact(db, CANARIES)
            state = WatchState() if kept is None else msgspec.json.decode(kept, type=WatchState)
            metrics = _metrics(state, named)
            write_fact(db, ADOPT, msgspec.json.encode(metrics))
        finally:
            db.close()
    except StoreFault as fault:
        raise CheckFault(str(fault)) from None
    except msgspec.DecodeError:
        raise CheckFault(
            "what is kept of the canaries can't be read; the sidecar begins anew at its next start"
        ) from None
    return metrics


def _metrics(state: WatchState, named: Sequence[str]) -> tuple[str, ...]:
    with_round = {metric for metric, watched in state.metrics.items() if watched.last is not None}
    missing = [name for name in named if name not in with_round]
    if missing:
        raise CheckFault(f"there is no whole round of canaries of {shown(missing[0])} yet")
    metrics = tuple(named) or tuple(sorted(m for m, watched in state.metrics.items() if watched.drifts))
    if not metrics:
        raise CheckFault("no judge drifts; name a metric by --metric to adopt its last round all the same")
    return metrics
