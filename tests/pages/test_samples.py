"""The samples of a page, as whoever reads it takes them."""

from lanewatch.pages.samples import samples_of, total


def test_samples_are_read_as_they_are_written() -> None:
    """Labels with commas, braces and quotes; a missing series is None, not 0."""
    samples = list(samples_of('# TYPE x counter\nx_total{a="1,\\"}",b="z"} 2.0\nx_total{a="2"} 3e1\n'))

    assert total(samples, "x") == 32
    assert total(samples, "x", b="z") == 2
    assert total(samples, "x", a='1,"}') == 2
    assert total(samples, "y") is None
