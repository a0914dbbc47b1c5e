"""Tails and quantiles against scipy's, written down and computed, and against each other."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanewatch.monitors.drift.quantiles import (
    beta_cdf,
    beta_quantile,
    chi2_quantile,
    chi2_tail,
    normal_quantile,
)

stats = pytest.importorskip("scipy.stats", reason="scipy is a tool of the tests alone")

# Written down from scipy 1.17: (p, df, chi2.isf(p, df)) and (p, a, b, beta.ppf(p, a, b)).
CHI2 = [
    (0.05, 1, 3.8414588206941285),
    (2.3148148148148147e-05, 9, 37.31210659678445),
    (1e-09, 14, 71.57346538996836),
    (1e-15, 64, 198.76448663363615),
    (0.5, 500, 499.3334915888738),
    (0.9, 2, 0.21072103131565256),
    (0.999, 6, 0.38106675513680655),
    (1e-30, 20, 195.1983493607649),
]
BETA = [
    (0.9, 0.5, 10.5, 0.12357420632868017),
    (0.5, 0.5, 10.5, 0.021940166768717413),
    (0.025, 0.5, 10.5, 4.7890433157581876e-05),
    (0.0001, 0.5, 10.5, 7.660145728849555e-10),
    (0.9, 12.5, 1188.5, 0.014291674416164054),
    (0.5, 12.5, 1188.5, 0.01013742135627029),
    (0.025, 12.5, 1188.5, 0.005477848602203041),
    (0.0001, 12.5, 1188.5, 0.0028039627414086815),
    (0.9, 1, 1, 0.9),
    (0.5, 1, 1, 0.5),
    (0.025, 1, 1, 0.025),
    (0.0001, 1, 1, 0.0001),
    (0.9, 3, 100000.0, 5.3221254854529235e-05),
    (0.5, 3, 100000.0, 2.673997821577458e-05),
    (0.025, 3, 100000.0, 6.186640225262935e-06),
    (0.0001, 3, 100000.0, 8.617515613779931e-07),
    (0.9, 5000.0, 500000.0, 0.010079954267084745),
    (0.5, 5000.0, 500000.0, 0.009900343110546488),
    (0.025, 5000.0, 500000.0, 0.009629759092954701),
    (0.0001, 5000.0, 500000.0, 0.00939111899456813),
    (0.9, 100000.0, 10000000.0, 0.009940936657957686),
    (0.5, 100000.0, 10000000.0, 0.009900957749257592),
    (0.025, 100000.0, 10000000.0, 0.009840020777999234),
    (0.0001, 100000.0, 10000000.0, 0.00978554166443175),
    (0.9, 40.5, 0.5, 0.9998038643560121),
    (0.5, 40.5, 0.5, 0.9943646797148239),
    (0.025, 40.5, 0.5, 0.9395020247859204),
    (0.0001, 40.5, 0.5, 0.8286050192728147),
]


@pytest.mark.parametrize(("p", "df", "x"), CHI2)
def test_chi2_quantiles_are_scipys(p: float, df: int, x: float) -> None:
    """To ten digits, far into the tail."""
    assert chi2_quantile(p, df) == pytest.approx(x, rel=1e-10)
    assert chi2_tail(x, df) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("p", "a", "b", "x"), BETA)
def test_beta_quantiles_are_scipys(p: float, a: float, b: float, x: float) -> None:
    """For few events and for ten million trials."""
    assert beta_quantile(p, a, b) == pytest.approx(x, rel=1e-8)


@given(p=st.floats(1e-12, 1 - 1e-9), df=st.integers(1, 300))
def test_the_chi2_quantile_is_the_tails_inverse(p: float, df: int) -> None:
    """Any level and any number of bins."""
    assert chi2_tail(chi2_quantile(p, df), df) == pytest.approx(p, rel=1e-8)


@given(p=st.floats(1e-6, 1 - 1e-6), a=st.floats(0.5, 1e5), b=st.floats(0.5, 1e5))
def test_the_beta_quantile_is_the_cdfs_inverse(p: float, a: float, b: float) -> None:
    """As far as floats can tell the points apart."""
    x = beta_quantile(p, a, b)

    assert 0 <= x <= 1
    assert beta_cdf(math.nextafter(x, 0), a, b) - 1e-6 <= p <= beta_cdf(math.nextafter(x, 1), a, b) + 1e-6


def test_one_bin_has_no_deviation() -> None:
    """Zero degrees of freedom: nothing can be exceeded."""
    assert chi2_tail(1.0, 0) == 0
    assert chi2_quantile(0.01, 0) == 0
    assert normal_quantile(0.5) == 0


@given(tail=st.floats(1e-14, 0.999), df=st.integers(1, 128))
@settings(max_examples=200)
def test_the_chi2_quantile_is_scipys_anywhere(tail: float, df: int) -> None:
    """To nine digits, for every number of bins and components there is."""
    assert chi2_quantile(tail, df) == pytest.approx(float(stats.chi2.isf(tail, df)), rel=1e-9)


@given(p=st.floats(0.001, 0.999), events=st.integers(0, 5000), more=st.integers(0, 500_000))
@settings(max_examples=200)
def test_the_quantiles_of_posteriors_are_scipys(p: float, events: int, more: int) -> None:
    """Jeffreys posteriors, from no event to thousands."""
    found = beta_quantile(p, events + 0.5, more + 0.5)

    assert found == pytest.approx(float(stats.beta.ppf(p, events + 0.5, more + 0.5)), rel=1e-7, abs=1e-12)
