"""Open files: the soft limit is raised, and connections stay below what is left."""

import resource

import pytest
from lanewatch.sidecar.descriptors import FEWEST, RESERVED, connections_each, raise_soft_limit


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    """It is 1,024 by custom, where the hard one is in the hundred thousands."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1] - 1, before[1]))

        assert raise_soft_limit() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("limit", "each"), [(RESERVED + 2048, 1024), (1024, (1024 - RESERVED) // 2), (100, FEWEST), (2**31, 1024)]
)
def test_both_receivers_fit_into_the_limit(limit: int, each: int, caplog: pytest.LogCaptureFixture) -> None:
    """What does not fit is not taken, and that is said with the remedy."""
    assert connections_each(1024, limit) == each
    assert ("receivers.max_connections" in caplog.text) is (each < 1024)
