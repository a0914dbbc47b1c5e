"""A drift report as one page: nothing is loaded from anywhere, no script runs, and it reads well in light and dark.

All text is escaped; what is shown of traffic is names of services, signals and bins, and counts.
"""

from collections.abc import Iterator
from html import escape

from lanewatch.drifting.inputs import clock_time
from lanewatch.drifting.pictures import bins_picture, evidence_picture, rate_picture, track_name
from lanewatch.drifting.report import AlarmTold, DriftReport, named
from lanewatch.drifting.report_text import DETECTORS, moved_text, percent, size
from lanewatch.monitors.drift.recorded_run import SeriesRun
from lanewatch.monitors.drift.signals import BY_NAME
from lanewatch.shown_text import shown

STYLE = """
:root { color-scheme: light dark; --ground: #fbfbfa; --card: #fff; --text: #1d2125; --soft: #5b6470; --edge: #dcdfe3;
  --then: #8a94a3; --now: #0b6bcb; --bad: #b3261e; --bad-ground: #fdecea; --good: #1b6e3a; --warn: #7a4d00;
  --warn-ground: #fdf3dc; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --card: #1c2024; --text: #e6e9ec; --soft: #a3acb7;
  --edge: #333a41; --then: #8f9bab; --now: #5aa9f5; --bad: #ff8a80; --bad-ground: #3a1f1d; --good: #7fd29b;
  --warn: #f0c674; --warn-ground: #332a17; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 40px 0 10px; } h3 { font-size: 16px; margin: 0; }
p { margin: 4px 0; } .soft { color: var(--soft); } a { color: var(--now); }
.note { background: var(--warn-ground); color: var(--warn); border-radius: 6px; padding: 8px 12px; margin: 8px 0; }
.lanes { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 12px; margin: 20px 0; }
.lanes > a, .series { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
.lanes > a { padding: 12px 16px; text-decoration: none; color: inherit; }
.lanes > a:focus-visible, summary:focus-visible { outline: 2px solid var(--now); outline-offset: 2px; }
.lanes b { display: block; font-size: 20px; } .bad { color: var(--bad); } .good { color: var(--good); }
table { border-collapse: collapse; width: 100%; background: var(--card); } caption { text-align: left; }
th, td { text-align: left; padding: 6px 10px; border-bottom: 1px solid var(--edge); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.time { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; border: 1px solid var(--edge); border-radius: 8px; }
.series { padding: 14px 18px; margin: 12px 0; } .series.alarmed { border-left: 4px solid var(--bad); }
.series header { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: baseline; }
.state { font-weight: 600; border-radius: 4px; padding: 1px 8px; border: 1px solid currentColor; font-size: 13px; }
.alarm { color: var(--bad); background: var(--bad-ground); } .ok { color: var(--good); } .unsure { color: var(--warn); }
.pictures { display: flex; flex-wrap: wrap; gap: 16px 32px; margin-top: 10px; } figure { margin: 0; max-width: 560px; min-width: 0; }
figcaption { color: var(--soft); font-size: 13px; } svg { max-width: 100%; height: auto; display: block; }
svg text { fill: var(--text); font: 12px system-ui, sans-serif; } svg text.small { fill: var(--soft); font-size: 11px; }
.then { fill: var(--then); } .now { fill: var(--now); } .interval { stroke: var(--text); stroke-width: 1.5; fill: none; }
.grid { stroke: var(--edge); } .axis { stroke: var(--soft); } .line { stroke: var(--bad); stroke-dasharray: 6 4; }
.standing { fill: var(--bad); opacity: 0.13; } .changed { stroke: var(--bad); stroke-dasharray: 1 3; }
.track { fill: none; stroke: var(--now); stroke-width: 1.8; } .t1 { stroke: var(--text); stroke-dasharray: 5 3; }
.t2 { stroke: var(--soft); stroke-dasharray: 2 2; } .key { display: inline-block; width: 12px; height: 10px; }
.key.then { background: var(--then); } .key.now { background: var(--now); } details { margin-top: 10px; }
summary { cursor: pointer; color: var(--soft); }
"""
TIME = ' class="time"'
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(report: DriftReport) -> str:
    """The whole page."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">',
            f"<title>Drift, {clock_time(report.first)} to {clock_time(report.last)}</title>",
            f"<style>{STYLE}</style></head><body><main>",
            *_head(report),
            *_alarms(report),
            *_lanes(report),
            *_unwatched(report),
            "</main></body></html>\n",
        )
    )


def _head(report: DriftReport) -> Iterator[str]:
    its, budget = report.reference_of, report.budget
    against = "the first half of the recording" if report.itself else f"reference <b>{escape(report.reference)}</b>"
    services = ", ".join(f"{_name(name)} ({n:,})" for name, n in report.services.items())
    yield "<h1>Drift report</h1>"
    yield (
        f"<p>{report.traces:,} traces of {services}, {clock_time(report.first)} to {clock_time(report.last)} UTC, held "
        f"against {against}: {clock_time(its.first)} to {clock_time(its.last)} UTC, {its.days} day"
        f"{'' if its.days == 1 else 's'}.</p>"
    )
    shared = "in all" if budget.of == "instance" else "a series"
    yield (
        f'<p class="soft">Alarms keep a budget: at most {budget.false_alarms_per_30_days:g} false ones in 30 days {shared}, '
        "in expectation. PSI and rates say how large a change is; evidence says how sure.</p>"
    )
    for line in report.told:
        yield f'<p class="note">{escape(shown(line, 500))}</p>'
    for gap, number in report.gaps().items():
        yield f'<p class="note">{escape(gap)}, {number} series: {escape(gap.meaning)}.</p>'
    yield '<nav class="lanes" aria-label="Lanes">'
    for lane, series in report.lanes.items():
        raised = sum(one.reading.alarms > 0 for one in series)
        said = f"{raised} alarmed" if raised else "no alarm"
        yield (
            f'<a href="#{lane}"><span class="soft">{lane.capitalize()}</span><b class="{"bad" if raised else "good"}">{said}'
            f'</b><span class="soft">{len(series)} series</span></a>'
        )
    yield "</nav>"


def _alarms(report: DriftReport) -> Iterator[str]:
    yield "<h2>Alarms</h2>"
    if not report.alarms:
        yield '<p class="good">None was raised.</p>'
        return
    yield '<div class="scroll"><table><thead><tr>'
    for name in ("signal", "lane", "service", "changed about", "found", "by", "what moved most", "now"):
        yield f'<th scope="col">{name}</th>'
    yield "</tr></thead><tbody>"
    for alarm in report.alarms:
        moved = "<br>".join(_arrow(moved_text(alarm.signal, one)) for one in alarm.moved)
        detector = DETECTORS.get(alarm.detector, alarm.detector).removeprefix("its ")
        way = "" if alarm.direction == "any" else f", {escape(alarm.direction)}"
        now = "still so" if alarm.cleared is None else f"back since {clock_time(alarm.cleared)}"
        cells = (
            f'<a href="#{_place(alarm.service, alarm.signal)}">{escape(alarm.signal)}</a>',
            alarm.lane,
            _name(alarm.service),
            clock_time(alarm.changed),
            clock_time(alarm.raised),
            f"{escape(detector)}{way}",
            moved,
            now,
        )
        yield f"<tr>{''.join(f'<td{TIME if at in (3, 4) else str()}>{cell}</td>' for at, cell in enumerate(cells))}</tr>"
    yield "</tbody></table></div>"


def _lanes(report: DriftReport) -> Iterator[str]:
    for lane, series in report.lanes.items():
        yield f'<section><h2 id="{lane}">{lane.capitalize()}</h2>'
        for one in series:
            alarms = [
                alarm
                for alarm in report.alarms
                if (alarm.service, alarm.signal) == (one.reading.service, one.reading.signal)
            ]
            yield from _series(report, one, alarms)
        yield "</section>"


def _series(report: DriftReport, one: SeriesRun, alarms: list[AlarmTold]) -> Iterator[str]:
    reading = one.reading
    title = f"{reading.signal} of {named(reading.service)}"
    state = "alarm" if reading.alarm else str(reading.state)
    word = "cleared" if alarms and not reading.alarm else state
    yield (
        f'<article class="series{" alarmed" if alarms else ""}" id="{_place(reading.service, reading.signal)}"><header>'
        f'<h3>{escape(reading.signal)}</h3><span class="state {state}">{word}</span>'
        f'<span class="soft">{_name(reading.service)}</span><span>{_arrow(size(one))}</span></header>'
    )
    yield f'<p class="soft">{escape(BY_NAME[reading.signal].meaning)}</p>'
    # Quiet series fold their pictures away: a page of thirty series is read from the alarms on.
    yield '<div class="pictures">' if alarms else '<details><summary>Pictures</summary><div class="pictures">'
    if one.rate is not None:
        yield _figure(rate_picture(f"Rate of {title}", one.then[1], one.rate), "Then and now, with its 95 % interval")
    elif one.then:
        key = '<span class="key then"></span> then <span class="key now"></span> now: shares of the bins'
        yield _figure(bins_picture(f"Bins of {title}", reading.bins, one.then, one.now), key)
    caption = "Evidence over its line; shaded while an alarm stands, dotted where the change is thought to be"
    picture = evidence_picture(f"Evidence of {title}", one.tracks, report.first, report.stretch_seconds, alarms)
    yield _figure(picture, caption)
    yield "</div>" if alarms else "</div></details>"
    yield from _numbers(one)
    yield "</article>"


def _numbers(one: SeriesRun) -> Iterator[str]:
    facts = one.reading.reference
    yield '<details><summary>Numbers</summary><div class="scroll"><table>'
    if one.shares is not None:
        yield '<thead><tr><th scope="col">bin</th>'
        yield "".join(f'<th class="number" scope="col">{name}</th>' for name in ("then", "now", "of the PSI"))
        yield "</tr></thead><tbody>"
        rows = zip(one.reading.bins, one.then, one.now, one.shares.contributions, strict=True)
        for name, then, now, part in rows:
            cells = "".join(f'<td class="number">{cell}</td>' for cell in (percent(then), percent(now), f"{part:.4f}"))
            yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
        yield "</tbody></table></div><div class='scroll'><table>"
    yield "<tbody>"
    for name, value in _figures(one):
        yield f'<tr><th scope="row">{name}</th><td class="number">{value}</td></tr>'
    for track in one.tracks:
        most = max((ratio for ratio in track.ratios if ratio is not None), default=0.0)
        name = f"largest evidence over its line, {escape(track_name(track))}"
        yield f'<tr><th scope="row">{name}</th><td class="number">{most:.3g}</td></tr>'
    known = (
        ("observations that the reference is worth", f"{facts.worth:,.0f}"),
        ("days of the reference", str(facts.days)),
        ("overdispersion (phi)", f"{facts.phi:.2f}"),
        ("day tolerance (tau)", "" if facts.tau is None else f"{facts.tau:.2f}"),
    )
    for name, value in known:
        if value:
            yield f'<tr><th scope="row">{name}</th><td class="number">{value}</td></tr>'
    yield "</tbody></table></div></details>"


def _figures(one: SeriesRun) -> Iterator[tuple[str, str]]:
    if (effect := one.shares) is not None:
        yield "observations", f"{effect.n:,.0f}"
        yield "PSI", f"{effect.psi:.4f}"
        yield "PSI that no change would give", f"{effect.psi - effect.psi_excess:.4f}"
        yield "KL, nats", f"{effect.kl_nats:.4f}"
        yield "JS distance, base 2", f"{effect.js_distance:.4f}"
        if effect.wasserstein_sd is not None:
            yield "Wasserstein-1, standard deviations", f"{effect.wasserstein_sd:.3f}"
    if (rate := one.rate) is not None:
        yield "observations", f"{rate.n:,.0f}"
        yield "rate", percent(rate.rate)
        yield "95 % interval", f"{percent(rate.lower)} to {percent(rate.upper)}"
    for vector in one.reading.vectors[-1:]:
        yield "vectors", f"{vector.n:,.0f}"
        yield "mean PSI of the components", f"{vector.psi:.4f}"
        yield "components over their threshold", percent(vector.share_over)


def _unwatched(report: DriftReport) -> Iterator[str]:
    if report.unwatched:
        names = ", ".join(
            f"{escape(one.signal)} of {_name(one.service)} ({one.observations})" for one in report.unwatched
        )
        yield f"<h2>Not watched</h2><p>Fewer observations in the reference than it takes: {names}.</p>"


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _arrow(text: str) -> str:
    """A text with an arrow for ->, which no line is broken at."""
    return escape(text).replace(" -&gt; ", "&nbsp;→&nbsp;").replace(" %", "&nbsp;%")


def _name(service: str) -> str:
    return escape(shown(named(service), 60))


def _place(service: str, signal: str) -> str:
    """An anchor."""
    return escape(f"{service}-{signal}".replace(" ", "_"))
