"""Drift with a stated false-alarm rate: signals, bins, evidence that may be looked at forever, and alarms that latch.

The path of an observation: a record's signals are read (`signals`), sorted into fixed bins and added to the open tick of
ten seconds (`observer`), summed over replicas (`ticks`), and given to detectors (`series`) that compare them with a
reference (`reference`). Effect sizes (PSI, KL, JS, W1) are reported; alarms come from evidence alone. Nothing is kept
but sums: no text, no vectors, no user or session ids.
"""
