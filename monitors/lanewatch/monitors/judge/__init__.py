"""Reference-free scores of sampled traffic: what was judged, by whom, and why what has no score has none.

A sample (`samples`) is held against a metric (`metrics`) by an evaluator, and ends as a result (`results`).
"""
