"""From records to verdicts and metrics: divergence, lanes, exposition."""

import os

# numpy's linear algebra starts a thread a core, and they wait for each other by spinning: with two busy cores a reference
# took 2.7 s of CPU to fit instead of 0.25. A sidecar lives on what the application leaves; one thread is enough for it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
