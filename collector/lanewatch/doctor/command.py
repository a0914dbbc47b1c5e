"""`lanewatch doctor`: looks at a running sidecar, and says what is well, what is not, and what to do about it."""

import msgspec
from rich.console import Console
from rich.text import Text

from lanewatch.config.keys import Config
from lanewatch.doctor.check import Status
from lanewatch.doctor.checkup import Diagnosis, diagnose
from lanewatch.pages.client import PageClient
from lanewatch.shown_text import shown_line

MARKS = {
    Status.OK: ("ok", "green"),
    Status.NOTE: ("note", "yellow"),
    Status.WRONG: ("wrong", "red"),
    Status.UNKNOWN: ("?", "yellow"),
}


def doctor(config: Config, metrics: str | None, prometheus: str | None, *, as_json: bool) -> bool:
    """Print the diagnosis; whether nothing is wrong. Raises PageAddressError."""
    scraper = None if prometheus is None else PageClient(prometheus, config, "--prometheus")
    diagnosis = diagnose(config, PageClient(metrics, config), scraper)
    if as_json:
        Console(soft_wrap=True, markup=False, highlight=False).print(msgspec.json.encode(_plain(diagnosis)).decode())
    else:
        _tell(diagnosis, Console())
    return diagnosis.sound


def _plain(diagnosis: Diagnosis) -> dict[str, object]:
    return {"sound": diagnosis.sound, **msgspec.to_builtins(diagnosis)}


def _tell(diagnosis: Diagnosis, console: Console) -> None:
    console.print(Text(f"Lanewatch at {diagnosis.address}", style="bold"))
    for check in diagnosis.checks:
        mark, colour = MARKS[check.status]
        console.print(
            Text.assemble((f"  {mark:<6}", colour), (f"{check.name}: ", "bold"), shown_line(check.found)),
            soft_wrap=True,
        )
        if check.remedy:
            console.print(Text(f"         {shown_line(check.remedy)}"), style="dim", soft_wrap=True)
    if diagnosis.settings:
        console.print(Text("Settings that differ from the defaults", style="bold"))
        for name, value in diagnosis.settings.items():
            console.print(Text(f"  {name} = {shown_line(str(value))}"), soft_wrap=True)
    wrong = sum(check.status is Status.WRONG for check in diagnosis.checks)
    unknown = sum(check.status is Status.UNKNOWN for check in diagnosis.checks)
    told = f"{wrong} to be put right." if wrong else "Nothing is wrong."
    console.print(Text(f"{told} {unknown} could not be told." if unknown else told, style="bold"))
