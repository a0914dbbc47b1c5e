"""Holds the functions that the detectors use to vectors that were worked out another way.

    python tests/monitors/drift/check_oracle.py FILE

Prints a line for each kind of vector and a count; exits 1 if any vector of a kind that is used is missed, or if a kind
is neither used nor listed as of no use here.
"""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lanewatch.monitors.drift import betting, bins, calibration, dispersion, distances, shiryaev_roberts, tilts, weights

Inputs = dict[str, Any]

# Kinds that nothing here could use, and why.
UNUSED = {
    "psi_eps_1e-4": "replacing empty shares by 1e-4 gives 2,135 times the nominal false alarms at n = 50",
    "hellinger": "one more effect size beside PSI, KL and JS tells nothing new",
    "total_variation": "one more effect size beside PSI, KL and JS tells nothing new",
    "clopper_pearson": "Jeffreys and Wilson intervals are shorter at the same average coverage",
    "e_beta_mixture": "the e-SR's own mixture of alternatives adapts to the size of a change",
    "wasserstein": "samples are not kept, only bins: wasserstein_binned",
    "wasserstein_normed": "samples are not kept; W1 in standard deviations is worked out from bins",
    "energy": "samples are not kept",
    "mmd2u": "samples are not kept",
    "e_bh": "the budget is split instead: e-BH on running suprema does not control what it promises",
    "e_lond": "the budget is split instead: expected false alarms add up whatever the dependence",
    "lond": "the budget is split instead: expected false alarms add up whatever the dependence",
    "page_hinkley": "22 false alarms a month at its usual setting, and its state can't be merged",
    "evidently_psi": "the same as psi_eps_1e-4",
    "evidently_kl": "KL from the reference to the current side; here it is the other direction",
}


def _categories(inputs: Inputs) -> tuple[list[float], list[float]]:
    """Counts of two sides given by name, over the union of their names."""
    names = sorted({*inputs["ref"], *inputs["cur"]})
    return [inputs["ref"].get(name, 0) for name in names], [inputs["cur"].get(name, 0) for name in names]


def _two_shares(inputs: Inputs) -> tuple[Any, Any]:
    """Shares (current, reference) however they are given."""
    if "p" in inputs:
        return distances.shares(inputs["p"]), distances.shares(inputs["q"])
    if "cur_counts" in inputs:
        return distances.shares(inputs["cur_counts"]), distances.shares(inputs["ref_counts"])
    reference, current = _categories(inputs)
    return distances.shares(current), distances.shares(reference)


def _base(inputs: Inputs) -> float:
    base = inputs.get("base", "e")
    return math.e if base == "e" else float(base)


def _psi(inputs: Inputs) -> Any:
    pseudo = inputs.get("pseudo_count", 0)
    return distances.psi(distances.shares(inputs["cur_counts"], pseudo), distances.shares(inputs["ref_counts"], pseudo))


def _shrunk(inputs: Inputs) -> tuple[Any, Any]:
    q = distances.shares(inputs["ref_counts"], inputs["ref_pseudo_count"])
    kappa = inputs.get("kappa", "bins/2")
    return distances.shares_toward(inputs["cur_counts"], q, None if kappa == "bins/2" else kappa), q


def _g(inputs: Inputs) -> Any:
    q = distances.shares(inputs["ref_counts"], inputs["ref_pseudo_count"])
    return distances.g_statistic(inputs["cur_counts"], q, 1 / sum(inputs["ref_counts"]))


def _js(inputs: Inputs) -> Any:
    return distances.js_distance(*_two_shares(inputs), base=_base(inputs))


def _finite(value: float | None) -> float:
    return math.inf if value is None else value


def _sr_path(inputs: Inputs) -> list[float]:
    table = betting.rate_table(inputs["p0"], inputs["odds_ratios"])
    prior = np.array(inputs["weights"], float)
    detector = shiryaev_roberts.ShiryaevRoberts(prior, limit=1.0)
    path = []
    for tick, (x, n) in enumerate(zip(inputs["x"], inputs["n"], strict=True)):
        path.append(float(detector.update(betting.increments([n - x, x], table), inputs["dt_minutes"], tick)))
    return path


def _rate_increments(inputs: Inputs) -> list[float]:
    p0, p1 = inputs["p0"], inputs["p1"]
    table = betting.rate_table(p0, [p1 / (1 - p1) / (p0 / (1 - p0))])
    pairs = zip(inputs["x"], inputs["n"], strict=True)
    return [float(betting.increments([n - x, x], table)[0]) for x, n in pairs]


def _cusum_path(inputs: Inputs) -> list[float]:
    statistic, path = np.zeros(1), []
    for step in _rate_increments(inputs):
        statistic = shiryaev_roberts.cusum_step(statistic, np.array([step]))
        path.append(float(statistic[0]))
    return path


def _betting_ht(inputs: Inputs) -> Any:
    return np.exp(np.cumsum(betting.log_wealth(inputs["x"], inputs["w"], inputs["p0"], inputs["lam"])))


def _betting_identity(inputs: Inputs) -> list[float]:
    table = np.exp(betting.rate_table(inputs["p0"], [inputs["odds_ratio"]], inputs["w"]))[0]
    return [float(table[1]), float(table[0])]


def _ht_rate(inputs: Inputs) -> list[float]:
    x, w = np.array(inputs["x"], float), np.array(inputs["w"], float)
    found = weights.weighted_rate(float(w @ x), float(w.sum()), float((w * w) @ x), float(w @ w))
    assert math.isclose(found.kish_n, weights.kish_n(w))
    return [found.rate, found.kish_n, found.variance, found.effective_n]


def _psi_weighted(inputs: Inputs) -> Any:
    sums = np.array(inputs["cur_weight_sums"], float)
    counts = sums / sums.sum() * inputs["n_eff"]
    pseudo = inputs["pseudo_count"]
    return distances.psi(distances.shares(counts, pseudo), distances.shares(inputs["ref_counts"], pseudo))


def _bin_counts(inputs: Inputs) -> list[int]:
    if "quantiles" in inputs:
        edges = bins.quantile_edges(inputs["reference"], inputs["quantiles"])
    elif isinstance(inputs.get("edges"), list):
        edges = sorted(set(inputs["edges"]))
    else:
        edges = bins.split_atoms(bins.quantile_edges(inputs["reference"]), inputs["reference"])
    place = bins.NumericBins(tuple(edges)).place()
    found = [place(value) for value in inputs["values"]]
    return [found.count(k) for k in range(len(edges) + 1)]


def _penalty(inputs: Inputs) -> Any:
    return tilts.reference_penalty(inputs["p"], inputs["q_over_p"], 1 / inputs["M"], inputs["z"])


USED: dict[str, Callable[[Inputs], Any]] = {
    "psi": _psi,
    "psi_ref_shrunk": lambda i: distances.psi(*_shrunk(i)),
    "g_statistic": _g,
    "kl": lambda i: distances.kl(*_two_shares(i), _base(i)),
    "js_distance": _js,
    "js_divergence": lambda i: _js(i) ** 2,
    "psi_threshold": lambda i: calibration.psi_threshold(i["B"], i["N"], _finite(i["M"]), i["alpha"]),
    "psi_pvalue": lambda i: calibration.psi_p_value(i["psi"], i["B"], i["N"], _finite(i["M"])),
    "psi_null_mean": lambda i: calibration.psi_null_mean(i["B"], i["N"], 1 / _finite(i["M"])),
    "jeffreys": lambda i: calibration.jeffreys(i["x"], i["n"], i["conf"]),
    "wilson": lambda i: calibration.wilson(i["x"], i["n"], i["conf"]),
    "sr_path": _sr_path,
    "cusum_path": _cusum_path,
    "e_process_log": lambda i: np.cumsum(_rate_increments(i)),
    "betting_ht": _betting_ht,
    "betting_identity": _betting_identity,
    "ht_rate": _ht_rate,
    "psi_weighted": _psi_weighted,
    "design_effect": lambda i: weights.design_effect(i["m"], i["icc"]),
    "dispersion_phi": lambda i: dispersion.dispersion_phi(i["x"], i["n"]),
    "wasserstein_binned": lambda i: distances.wasserstein_binned(i["edges"], i["p_cur"], i["p_ref"]),
    "hotelling_t2": lambda i: calibration.hotelling_t2(i["mean_whitened"], i["n"], _finite(i["M"])),
    "hotelling_p": lambda i: calibration.hotelling_p_value(i["t2"], i["k"]),
    "gaussian_kl": lambda i: distances.gaussian_kl(i["mean"], i["cov"]),
    "reference_penalty": _penalty,
    "bin_counts": _bin_counts,
    "otel_adjusted_count": lambda i: weights.adjusted_count(i["th"]),
    "tilt": lambda i: tilts.tilt(i["p"], i["bin"], i["odds_ratio"]),
    "multinomial_log_lr": lambda i: betting.multinomial_log_lr(i["counts"], i["p"], i["q"]),
}


def expected_of(vector: dict[str, Any]) -> Any:
    """What must come out; `nonfinite` marks infinity, which JSON has no number for."""
    marked = vector.get("nonfinite")
    if marked:
        return -math.inf if str(marked).startswith("-") else math.inf
    return vector["expected"]


def agrees(vector: dict[str, Any]) -> bool:
    """Whether the product gives what is expected, within the tolerance (relative, absolute below 1)."""
    found = np.atleast_1d(np.asarray(USED[vector["kind"]](vector["inputs"]), float))
    expected = np.atleast_1d(np.asarray(expected_of(vector), float))
    if found.shape != expected.shape:
        return False
    same = found == expected
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= vector["tol"] * np.maximum(1.0, np.abs(expected))
    return bool((same | near).all())


def check(vectors: list[dict[str, Any]], say: Callable[[str], None]) -> bool:
    """Check all vectors; True if every kind is known and no vector is missed."""
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for vector in vectors:
        by_kind[vector["kind"]].append(vector)
    right = of_use = 0
    unknown = []
    for kind in sorted(by_kind):
        if kind in USED:
            missed = []
            for vector in by_kind[kind]:
                try:
                    if not agrees(vector):
                        missed.append(vector["id"])
                except Exception as error:  # noqa: BLE001 - one vector must not hide the others
                    missed.append(f"{vector['id']} ({type(error).__name__}: {error})")
            n = len(by_kind[kind])
            right, of_use = right + n - len(missed), of_use + n
            say(f"{'ok  ' if not missed else 'FAIL'} {kind:22} {n - len(missed)}/{n} {' '.join(missed)}".rstrip())
        elif kind in UNUSED:
            say(f"-    {kind:22} {len(by_kind[kind])} not used: {UNUSED[kind]}")
        else:
            unknown.append(kind)
            say(f"FAIL {kind:22} {len(by_kind[kind])} of a kind that is not known here")
    say(f"{right} of {of_use} vectors agree; {len(vectors) - of_use} are of kinds that are not used")
    return right == of_use and not unknown


def main(arguments: list[str]) -> int:
    """Exit status 0 if all is well, 1 if not, 2 for wrong usage."""
    if len(arguments) != 1:
        sys.stderr.write((__doc__ or "").split("\n\n")[1].strip() + "\n")
        return 2
    content = json.loads(Path(arguments[0]).read_text())
    vectors = content["vectors"] if isinstance(content, dict) else content
    return 0 if check(vectors, _say) else 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
