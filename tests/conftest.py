"""Before any test: what must be imported first."""

import lanewatch.monitors  # noqa: F401 - it tells numpy, which many tests import before anything of Lanewatch, to use one thread
