"""Findings as JUnit XML, which every CI system reads: one test case a trace."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from lanewatch.conformance.trial import Ending, Finding

NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2


TAGS = {
    Ending.UNTRUE: "failure",
    Ending.FAILED: "error",
    Ending.INCOMPLETE: "skipped",
    Ending.NOT_TRIED: "skipped",
}


def write_junit(path: Path, producer: str, findings: list[Finding]) -> None:
    """Write the file; raises OSError."""
    counts = {ending: sum(1 for one in findings if one.ending is ending) for ending in Ending}
    suite = ET.Element(
        "testsuite",
        name=f"lanewatch adapters test {producer}",
        tests=str(len(findings)),
        failures=str(counts[Ending.UNTRUE]),
        errors=str(counts[Ending.FAILED]),
        skipped=str(counts[Ending.INCOMPLETE] + counts[Ending.NOT_TRIED]),
    )
    seen: dict[str, int] = {}
    for one in findings:
        name = f"{one.convention}: {one.shape}"
        seen[name] = seen.get(name, 0) + 1
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{producer}.{one.convention}",
            name=one.shape + _numbered(seen[name]),
            time="0",
        )
        tag = TAGS.get(one.ending)
        if tag is not None:
            text = NO_XML.sub("?", "; ".join(one.details))
            text = f"not tried: {text}" if one.ending is Ending.NOT_TRIED else text
            ET.SubElement(case, tag, message=text).text = text
    ET.indent(suite)
    path.write_bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")


def _numbered(count: int) -> str:
    """Recordings of several traces give several cases of one name."""
    return "" if count == 1 else f" ({count})"
