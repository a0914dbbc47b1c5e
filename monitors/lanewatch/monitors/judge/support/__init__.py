"""Support signals: what of an answer its contexts hold, told without a model, each by a name of its own.

None of them is a faithfulness score, and they are never blended: each checks one kind of thing, says how much of the answer
it could check at all (coverage), and has no value where there was nothing to check. docs/support-signals.md measures them.
"""
