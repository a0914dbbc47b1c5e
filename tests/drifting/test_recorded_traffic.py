"""Recorded traffic: cut down without changing what a signal reads, in order of time, and nothing left out in silence."""

from pathlib import Path

import pytest
from lanewatch.collector.spans import Trace
from lanewatch.config.keys import Config
from lanewatch.drifting.recorded_traffic import read_traffic
from lanewatch.drifting.watch import weighted_facts
from lanewatch.monitors.drift.facts import Facts
from lanewatch.monitors.drift.signals import SIGNALS
from lanewatch.observation import Observation
from lanewatch.replaying.playback import observe_path

from tests.monitors.drift.recordings import record_traffic

CORPUS = Path(__file__).parents[1] / "corpus"
MONDAY = 1_793_577_600
STACKS = ("langchain_oi", "openai-v2-events", "pydantic-ai-fmt6", "vercel-ai-json", "langsmith-otel")


@pytest.mark.parametrize("stack", STACKS)
def test_what_is_cut_off_changes_no_signal(stack: str) -> None:
    """Every signal reads the same of the cut record as of the whole one, on recordings of real stacks."""
    paths = sorted(path for path in (CORPUS / stack).iterdir() if path.is_dir())
    whole: dict[str, Facts] = {}

    def keep(trace: Trace, seen: Observation) -> None:
        whole[seen.record.trace_id] = weighted_facts(trace, seen)[0]

    for path in paths:
        observe_path(path, Config(), keep)
    cut = {facts.record.trace_id: facts for facts, _ in read_traffic(paths, Config()).traces}

    assert len(cut) > 3
    for name, facts in cut.items():
        for signal in SIGNALS:
            assert signal.read(facts) == signal.read(whole[name]), signal.name
        assert (facts.question, facts.answer) == (whole[name].question, whole[name].answer)
        assert facts.record.messages == ()


def test_files_in_any_order_give_traces_in_order_of_time(tmp_path: Path) -> None:
    """A trace that stands in two files counts once."""
    early = record_traffic(tmp_path / "b.jsonl", 1, 40, start=MONDAY, per_second=1)
    late = record_traffic(tmp_path / "a.jsonl", 2, 40, start=MONDAY + 1000, per_second=1)
    traffic = read_traffic([late, early, late], Config())
    ends = [facts.record.end_ns for facts, _ in traffic.traces]

    assert ends == sorted(ends)
    assert len(ends) == 80
    assert traffic.services == {"shop": 80}
    assert all(facts.record.revision == 0 for facts, _ in traffic.traces)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    """Without a time, years off, and outside of the window, each by its own number."""
    usual = record_traffic(tmp_path / "usual.jsonl", 1, 50, start=MONDAY, per_second=1)
    timeless = record_traffic(tmp_path / "timeless.jsonl", 2, 3, start=MONDAY, per_second=1, timeless=True)
    far = record_traffic(tmp_path / "far.jsonl", 3, 2, start=MONDAY + 3 * 365 * 86_400, per_second=1)
    traffic = read_traffic([usual, timeless, far], Config())
    windowed = read_traffic([usual], Config(), keep=lambda end_ns: end_ns < (MONDAY + 10) * 10**9)

    assert (len(traffic.traces), traffic.without_time, traffic.far_off) == (50, 3, 2)
    assert len(windowed.traces) + windowed.outside == 50
    assert 0 < windowed.outside < 50
