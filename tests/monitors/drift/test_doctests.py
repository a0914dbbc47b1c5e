"""The examples in the docstrings of the drift modules are true."""

import doctest
import importlib
import pkgutil

import lanewatch.monitors.drift as package
import pytest

MODULES = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    """A docstring that lies is worse than none."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_detectors_and_distances_have_examples() -> None:
    """One detector a file, with an example that fires."""
    shown = {"distances", "calibration", "bins", "betting", "tilts", "shiryaev_roberts", "rate_evidence", "bank_evidence",
             "multi_window_g", "hotelling", "weights", "dispersion", "quantiles", "windows"}  # fmt: skip
    finder = doctest.DocTestFinder(exclude_empty=True)
    with_examples = {
        name.rsplit(".", 1)[1]
        for name in MODULES
        if any(test.examples for test in finder.find(importlib.import_module(name)))
    }

    assert shown <= with_examples
