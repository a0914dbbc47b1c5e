"""`lanewatch baseline propose | compare | adopt | revert | log`: a new reference with a record of who, when and why."""

import json
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lanewatch.config.keys import Config
from lanewatch.drifting.baseline_store import Store
from lanewatch.drifting.inputs import DriftFault, check_population, clock_time, told_of, traffic_in, watched
from lanewatch.drifting.recorded_traffic import Traffic
from lanewatch.monitors.drift.alarm import Event
from lanewatch.monitors.drift.budget import Budget
from lanewatch.monitors.drift.ledger import MAX_TEXT, Action, Comparison, Entry, Ledger
from lanewatch.monitors.drift.promotion import population
from lanewatch.monitors.drift.recorded_run import RecordedRun, SeriesRun
from lanewatch.monitors.drift.reference import Reference, save_reference
from lanewatch.monitors.lanes import Lane
from lanewatch.shown_text import shown
from lanewatch.wide_tables import print_whole

NANOSECONDS = 1_000_000_000
TAKEN_UP = "Sidecars that read this file take it up within seconds"


class Act(msgspec.Struct, frozen=True):
    """Who does something, when (seconds since the epoch), and why."""

    by: str
    at: int
    reason: str

    def entry(self, action: Action, reference: Reference, before: str | None, **more: object) -> Entry:
        """The ledger's entry of it."""
        reason, by = (" ".join(text.split())[:MAX_TEXT] for text in (self.reason, self.by))
        return Entry(action, self.at, by, reason, reference.id, before, population(reference), **more)  # type: ignore[arg-type]


def propose(store: Store, reference: Reference, act: Act) -> None:
    """Keep a candidate and enter it, also where the one in use can't be read. Raises DriftFault and OSError."""
    current, trouble = _in_use(store)
    if current is not None and current.id == reference.id:
        raise DriftFault(f"{reference.id} is the reference in use already")
    store.keep(reference)
    store.write(act.entry(Action.PROPOSED, reference, None if current is None else current.id))
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"{reference.id} is proposed. {_of_whom(reference)}.", markup=False)
    if trouble:
        out.print(Text(trouble, "yellow"))
    elif current is None:
        out.print("Next: lanewatch baseline adopt --reason TEXT (none is in use, so there is nothing to compare with)")
    else:
        out.print(f"Next: lanewatch baseline compare RECORDING... (against {current.id}, in use)", markup=False)


def compare(
    store: Store, paths: list[Path], config: Config, act: Act, *, name: str | None = None, as_json: bool = False
) -> None:
    """Run the reference in use and a candidate over the same traffic, and enter what each would have alarmed on.

    Raises DriftFault and OSError.
    """
    new, old = store.version(_candidate(store.ledger(), name)), store.current()
    if old is None:
        raise DriftFault("no reference is in use, so there is nothing to compare with: lanewatch baseline adopt")
    traffic = traffic_in(paths, config)
    for reference in (old, new):
        check_population(reference, traffic)
    budget = Budget(config.drift.false_alarms_per_30_days, config.drift.budget_of)
    runs = [watched(one, traffic, budget, what=what) for one, what in ((old, "in use"), (new, "proposed"))]
    raised = [sum(change.event == Event.RAISED for change in run.changes) for run in runs]
    comparison = Comparison(
        len(traffic.traces), traffic.first_ns // NANOSECONDS, traffic.last_ns // NANOSECONDS, raised[0], raised[1]
    )
    store.write(act.entry(Action.COMPARED, new, old.id, comparison=comparison))
    told = [*told_of(traffic), *_overlap(new, traffic)]
    if as_json:
        found = {"old": old.id, "new": new.id, "comparison": comparison, "told": told, "series": _pairs(*runs)}
        sys.stdout.write(json.dumps(msgspec.to_builtins(found)) + "\n")
    else:
        _print_comparison(old, new, comparison, runs, told)


def adopt(store: Store, act: Act, *, name: str | None = None, uncompared: bool = False) -> None:
    """Make a candidate the reference in use. Raises DriftFault and OSError.

    `uncompared`: though it did not run beside the one in use, be it since that one can't be read any more.
    """
    with store.turn():
        ledger = store.ledger()
        new = store.version(_candidate(ledger, name))
        current, aside = store.current_or_aside() if uncompared else (_readable(store), None)
        if current is not None and current.id == new.id:
            raise DriftFault(f"{new.id} is the reference in use already")
        compared = ledger.last(Action.COMPARED, new.id)
        if current is not None and not uncompared and (compared is None or compared.before != current.id):
            raise DriftFault(
                f"{new.id} was not compared with {current.id}, which is in use. Run both side by side first: lanewatch "
                "baseline compare RECORDING..., or adopt it unseen with --without-comparison"
            )
        before = _kept(store, ledger, current, aside)
        _use(store, new, act.entry(Action.ADOPTED, new, before))
    out = Console(highlight=False, soft_wrap=True)
    _tell_aside(out, aside)
    out.print(f"{new.id} is adopted. {_of_whom(new)}. {TAKEN_UP}", markup=False)
    its = None if compared is None else compared.comparison
    if its is not None and its.new_alarms > its.old_alarms:
        said = f"On the traffic of the comparison it raised {its.new_alarms} alarms, the one before {its.old_alarms}"
        out.print(Text(f"{said}: is that what was meant? Else: lanewatch baseline revert", "bold yellow"))


def revert(store: Store, act: Act, *, name: str | None = None) -> None:
    """Go back to the reference that was in use before. Raises DriftFault and OSError."""
    with store.turn():
        ledger = store.ledger()
        if name is None and ledger.damages:
            raise DriftFault(
                "the ledger is damaged, so what was in use before can't be told for sure: lanewatch baseline log shows "
                "where. Name it: --to ID"
            )
        target = name or ledger.previous()
        if target is None:
            raise DriftFault("no reference was in use before this one, as far as the ledger tells")
        old = store.version(target)
        current, aside = (_readable(store), None) if name is None else store.current_or_aside()
        before = _kept(store, ledger, current, aside)
        _use(store, old, act.entry(Action.REVERTED, old, before))
    out = Console(highlight=False, soft_wrap=True)
    _tell_aside(out, aside)
    out.print(f"{old.id} is in use again. {_of_whom(old)}. {TAKEN_UP}", markup=False)


def show_log(store: Store, *, as_json: bool = False) -> bool:
    """Print what was done; False where a line of the ledger, or the file in use, can't be trusted. Raises OSError."""
    ledger, (current, trouble) = store.ledger(), _in_use(store)
    in_use = None if current is None else current.id
    if as_json:
        damages = [damage._asdict() for damage in ledger.damages]
        found = {"in_use": in_use, "adopted": ledger.adopted, "entries": ledger.entries, "damages": damages}
        sys.stdout.write(json.dumps(msgspec.to_builtins({**found, "trouble": trouble})) + "\n")
        return not damages and not trouble
    out = Console(highlight=False)
    for entry in ledger.entries:
        out.print(_entry_line(entry), soft_wrap=True)
    for line, what in ledger.damages:
        out.print(Text(f"{store.ledger_file.name}, line {line}: {what}", "bold red"), soft_wrap=True)
    if trouble:
        out.print(Text(trouble, "bold red"), soft_wrap=True)
    elif ledger.adopted is not None and ledger.adopted != in_use:
        said = f"The ledger's last adopted reference is {ledger.adopted}; {in_use or 'no reference'} is in use. "
        out.print(Text(said + "Adopt or revert again", "bold yellow"), soft_wrap=True)
    out.print(Text.assemble("In use: ", (in_use or ("can't be told" if trouble else "none"), "bold cyan")))
    return not ledger.damages and not trouble


def _in_use(store: Store) -> tuple[Reference | None, str]:
    """The reference in use, or why it can't be read and how another comes into its place."""
    try:
        return store.current(), ""
    except DriftFault as fault:
        remedy = "lanewatch baseline adopt ID --without-comparison, or revert --to ID; baseline log names them"
        return None, f"{fault}. To put another in its place: {remedy}"


def _readable(store: Store) -> Reference | None:
    current, trouble = _in_use(store)
    if trouble:
        raise DriftFault(trouble)
    return current


def _tell_aside(out: Console, aside: Path | None) -> None:
    if aside is not None:
        out.print(Text(f"What was in use can't be read; it is put aside as {aside.name}", "yellow"))


def _kept(store: Store, ledger: Ledger, current: Reference | None, aside: Path | None) -> str | None:
    """Keep what is in use, to be gone back to, and tell its id; of what was put aside unread the ledger alone knows it."""
    if current is not None:
        store.keep(current)
        return current.id
    return None if aside is None else ledger.adopted


def _use(store: Store, reference: Reference, entry: Entry) -> None:
    store.write(entry)
    save_reference(store.in_use, reference)


def _candidate(ledger: Ledger, name: str | None) -> str:
    if name is not None:
        return name
    last = ledger.last(Action.PROPOSED)
    if last is None:
        raise DriftFault("nothing is proposed: lanewatch baseline propose FILE --reason TEXT")
    return last.reference


def _overlap(new: Reference, traffic: Traffic) -> list[str]:
    its = population(new)
    first, last = traffic.first_ns / NANOSECONDS, traffic.last_ns / NANOSECONDS
    if its.first < last and first < its.last:
        return ["this traffic is in part what the new reference was made of, so it can hardly alarm on it"]
    return []


def _pairs(old: RecordedRun, new: RecordedRun) -> list[dict[str, object]]:
    """Each series of either run: state, alarms, and PSI or rate, old and new; grouped by lane."""
    by_key = [{(one.reading.service, one.reading.signal): one for one in run.series} for run in (old, new)]
    rows: list[dict[str, object]] = []
    for lane in Lane:
        for key in {**by_key[0], **by_key[1]}:
            pair = [side.get(key) for side in by_key]
            if next(one.reading.lane for one in pair if one is not None) is lane:
                rows.append(
                    {
                        "lane": lane,
                        "service": key[0],
                        "signal": key[1],
                        **{name: _side(one) for name, one in zip(("old", "new"), pair, strict=True)},
                    }
                )
    return rows


def _side(one: SeriesRun | None) -> dict[str, object] | None:
    """None where a reference does not watch the series."""
    if one is None:
        return None
    evidence = max((ratio for track in one.tracks for ratio in track.ratios if ratio is not None), default=0.0)
    return {
        "state": one.reading.state,
        "alarms": one.reading.alarms,
        "evidence": evidence,
        **({} if one.shares is None else {"psi": one.shares.psi}),
        **({} if one.rate is None else {"rate_ratio": one.rate.ratio}),
    }


def _print_comparison(
    old: Reference, new: Reference, comparison: Comparison, runs: list[RecordedRun], told: list[str]
) -> None:
    out = Console(highlight=False)
    out.print(
        f"{comparison.traces:,} traces, {clock_time(comparison.first)} to {clock_time(comparison.last)} UTC, against "
        f"{old.id} (in use) and {new.id} (proposed)",
        markup=False,
    )
    for line in told:
        out.print(Text(line, "yellow"))
    table = Table(box=None, pad_edge=False)
    for name in ("lane", "service", "signal", "in use", "", "", "proposed", "", ""):
        table.add_column(name)
    for row in _pairs(*runs):
        cells = [str(row["lane"]), shown(row["service"]), str(row["signal"])]
        table.add_row(*cells, *_cells(row["old"]), *_cells(row["new"]))
    print_whole(out, table)
    for name, run in zip(("in use", "proposed"), runs, strict=True):
        raised = [change for change in run.changes if change.event == Event.RAISED]
        signals = ", ".join(sorted({change.signal for change in raised})) or "none"
        out.print(f"Alarms of the one {name}: {signals}", markup=False)


def _cells(side: object) -> tuple[Text, ...]:
    if not isinstance(side, dict):
        return Text("not watched", "dim"), Text(), Text()
    alarms = int(side["alarms"])
    state = Text(f"{alarms} alarm{'' if alarms == 1 else 's'}", "bold red") if alarms else Text(str(side["state"]))
    size = (
        f"PSI {side['psi']:.3f}" if "psi" in side else f"rate x{side['rate_ratio']:.2f}" if "rate_ratio" in side else ""
    )
    return state, Text(size), Text(f"evidence {side['evidence']:.2g}", "dim")


def _entry_line(entry: Entry) -> Text:
    line = Text.assemble(
        (clock_time(entry.at), "dim"), f"  {entry.action:<9} ", (entry.reference, "cyan"), f"  by {shown(entry.by)}"
    )
    if entry.before is not None:
        line.append(f"  before: {entry.before}", "dim")
    if entry.comparison is not None:
        its = entry.comparison
        line.append(f"\n    {its.traces:,} traces, {clock_time(its.first)} to {clock_time(its.last)}: {its.old_alarms}")
        line.append(f" alarms of the old one, {its.new_alarms} of the new one")
    if entry.action in (Action.PROPOSED, Action.ADOPTED) and entry.population is not None:
        its_population = entry.population
        services = ", ".join(f"{shown(name)} ({n:,})" for name, n in its_population.services.items())
        line.append(f"\n    of {services}; {clock_time(its_population.first)} to {clock_time(its_population.last)}")
    if entry.reason:
        line.append(f"\n    {shown(entry.reason, MAX_TEXT)}", "italic")
    return line


def _of_whom(reference: Reference) -> str:
    its = population(reference)
    services = ", ".join(f"{shown(name)} ({n:,} traces)" for name, n in its.services.items())
    return f"It is of {services}, {clock_time(its.first)} to {clock_time(its.last)} UTC"
