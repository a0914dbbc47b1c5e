"""Questions of a new cohort, and hashed n-grams under no change: real texts through the product's own readers."""

import numpy as np
from lanewatch.monitors.drift.alarm import LONGEST_MINUTES
from lanewatch.monitors.drift.bank_evidence import bank_evidence
from lanewatch.monitors.drift.bins import numeric_bins
from lanewatch.monitors.drift.budget import chance_a_check, minutes_between
from lanewatch.monitors.drift.distances import Floats
from lanewatch.monitors.drift.hours import Hours, plain_hours
from lanewatch.monitors.drift.multi_window_g import MultiWindowG
from lanewatch.monitors.drift.ngrams import ngram_vectors
from lanewatch.monitors.drift.projection import Projector, fit_projection
from lanewatch.monitors.drift.share_reference import ShareReference, share_reference
from lanewatch.monitors.drift.text_features import TEXT_FEATURES, TextFitting, fitted_features, read_text
from lanewatch.monitors.drift.tick import Tick
from lanewatch.monitors.drift.vector_reference import vector_reference
from lanewatch.monitors.drift.vector_series import VectorSeries

from tests.simulation.texts import texts

MEAN_A_TICK = 2.0  # 0.2 a second
SHARE = 0.2
CHANGE_TICK = 720
LONGEST_TICKS = CHANGE_TICK + 4320
HOURS = 28 * 24


def cohort_delays(series: int, seed: int, *, near: bool = False) -> Floats:
    """Minutes until any of ten features fires, after a fifth of the questions comes from the new cohort.

    The ten share one budget. The reference is worth the texts it was calibrated with, about 1,900.
    """
    rng = np.random.default_rng(seed)
    corpus = texts(seed)
    fitting = TextFitting()
    for text in corpus.fit:
        fitting.add(read_text(text))
    model = fitting.model()
    surprisals = model.surprisals()

    def features(sample: list[str]) -> Floats:
        rows = []
        for text in sample:
            read = read_text(text)
            rows.append((len(text), *read.plain, *fitted_features(read, model.words, surprisals)))
        return np.array(rows, float)

    calibration, live, new = (
        features(corpus.calibration),
        features(corpus.live),
        features(corpus.near if near else corpus.cohort),
    )
    references, placed = [], []
    for column in range(len(TEXT_FEATURES) + 1):
        bins = numeric_bins(calibration[:, column].tolist())
        place = bins.place()
        at = [np.array([place(value) for value in sample[:, column].tolist()]) for sample in (calibration, live, new)]
        placed.append((at[1], at[2], len(bins.names)))
        references.append(_series_of(share_reference(_over_hours(rng, at[0], len(bins.names)), bins.ordered), series))
    each = 1.0 / len(references)
    banks = [bank_evidence(reference, minutes_between(each / 2)) for reference in references]
    tests = [MultiWindowG(reference, chance_a_check(each / 2)) for reference in references]
    found = np.full(series, np.nan)
    for index in range(LONGEST_TICKS):
        n = rng.poisson(MEAN_A_TICK, series)
        owner = np.repeat(np.arange(series), n)
        old = rng.integers(len(live), size=len(owner))
        fresh = rng.integers(len(new), size=len(owner))
        is_new = (rng.random(len(owner)) < SHARE) & (index >= CHANGE_TICK)
        alarmed = np.zeros(series, bool)
        for bank, test, (of_live, of_new, length) in zip(banks, tests, placed, strict=True):
            counts = np.zeros((series, length))
            np.add.at(counts, (owner, np.where(is_new, of_new[fresh], of_live[old])), 1)
            tick = Tick(index, 0, 1 / 6, {1.0: counts})
            alarmed |= (bank.update(tick) >= 1) | (test.update(tick) >= 1)
        if index < CHANGE_TICK:
            for bank in banks:
                bank.restart(alarmed)
            for test in tests:
                test.restart(alarmed)
            continue
        new_ones = alarmed & np.isnan(found)
        found[new_ones] = (index + 1 - CHANGE_TICK) / 6
        if not np.isnan(found).any():
            break
    return found


def quiet_ngrams(series: int, days: int, seed: int) -> int:
    """False alarms of the hashed n-grams' detectors on texts like those of the reference."""
    rng = np.random.default_rng(seed)
    corpus = texts(seed)
    projector = Projector(fit_projection(ngram_vectors(corpus.fit)))
    vectors = ngram_vectors([*corpus.calibration, *corpus.live])
    rows = np.stack([numbers for vector in vectors if (numbers := projector.numbers(vector[None])) is not None])
    half = len(corpus.calibration)
    reference = vector_reference(_table_of(rng, rows[:half]), projector.projection.shape)
    fired = 0
    for _ in range(series):
        watched = VectorSeries(projector.projection.shape, reference)
        last = -1
        for index in range(days * 8640):
            n = int(rng.poisson(MEAN_A_TICK))
            if n == 0:
                continue
            counts = rows[half + rng.integers(len(rows) - half, size=n)].sum(axis=0)
            minutes = min((index - last) / 6, LONGEST_MINUTES)
            last = index
            if watched.detect(Tick(index, 0, minutes, {1.0: counts})) is not None:
                fired += 1
                watched.restart()
    return fired


def _over_hours(rng: np.random.Generator, places: np.ndarray, length: int) -> Hours:
    return _table_of(rng, np.eye(length)[places])


def _table_of(rng: np.random.Generator, rows: Floats) -> Hours:
    """Each text in an hour of its own choice of four weeks."""
    raw = np.zeros((HOURS, rows.shape[1]))
    np.add.at(raw, rng.integers(HOURS, size=len(rows)), rows)
    return plain_hours(np.arange(HOURS), raw)


def _series_of(reference: ShareReference, series: int) -> ShareReference:
    """One reference for many series."""
    return ShareReference(
        np.repeat(reference.shares[:, None], series, axis=1),
        np.repeat(reference.inverse_n[:, None], series, axis=1),
        np.repeat(reference.phi, series),
        np.repeat(reference.mean_weights[None], series, axis=0),
        reference.ordered,
    )
