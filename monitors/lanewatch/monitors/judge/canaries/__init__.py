"""Canaries: answers whose score a sound judge is known to give, judged again and again to see whether the judge has changed.

A judge behind an endpoint changes without a word. Only what can't have changed itself, a fixed set of anchors, tells a drift of
the judge from a drift of what is judged.
"""
