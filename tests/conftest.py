"""Before any test: what must be imported first, and that no test is timed."""

import lanewatch.monitors  # noqa: F401 - it tells numpy, which many tests import before anything of Lanewatch, to use one thread
from hypothesis import HealthCheck, settings

# A busy machine makes any input slow; that it is says nothing of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
