"""Embedding support: the share of the answer's sentences that lie near some sentence of a context, by a small local model.

It tells invented sentences, and nothing finer: on 120 minimal edits its AUC was 0.96 for sentences about something else, and
0.38 to 0.59, a coin, for a changed number, name, negation or role. The model knows English. What is compared is bounded: of
long contexts, the sentences that share the most words with the answer.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from lanewatch.monitors.embedding import Embedder, Vectors
from lanewatch.monitors.judge.claims import Claim, sentences
from lanewatch.monitors.judge.metrics import Metric
from lanewatch.monitors.judge.results import Reason, Result
from lanewatch.monitors.judge.samples import Sample
from lanewatch.monitors.judge.support.checked import Item, Unread
from lanewatch.monitors.judge.support.evaluator import signal_of
from lanewatch.monitors.judge.support.lexical import in_english
from lanewatch.monitors.judge.support.words import content_stems, words_of

NEAR = 0.5  # cosine; below it 10 of 12 sentences were unsupported on the 120 edits
LEAST_WORDS = 4  # of a sentence that says something by itself
MOST_SENTENCES = 64  # of all contexts together: half a second on one core
KEPT = 4096  # vectors of contexts' sentences, which come again with the next question: 6 MB


class EmbeddingEvaluator:
    """`Evaluates` for embedding_support. Free; up to half a second of one core a sample."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._alone = asyncio.Lock()  # an embedder is not called on two threads at once

    async def evaluate(self, metric: Metric, sample: Sample) -> Result:
        """The share of the answer's sentences with a near one in a context."""
        async with self._alone:
            return await asyncio.to_thread(signal_of, self._items, Reason.NO_CLAIMS, metric, sample)

    def _items(self, answer: str, contexts: Sequence[str], question: str | None, told: Sequence[Claim]) -> list[Item]:
        """As the other signals find theirs. Raises Unread for another language than the model's."""
        del question
        if not in_english(answer, contexts):
            raise Unread
        mine = [claim for claim in told if len(words_of(claim.text)) >= LEAST_WORDS]
        there = nearest_in_words(answer, contexts)
        if not mine or not there:
            return []
        likeness = self._vectors([claim.text for claim in mine]) @ self._vectors(there).T
        best = likeness.max(axis=1)
        return [Item(c.text, c.start, c.end, bool(one >= NEAR)) for c, one in zip(mine, best, strict=True)]

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        for text in texts:
            self._known.move_to_end(text)
        found = np.stack([self._known[text] for text in texts])
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found


def nearest_in_words(answer: str, contexts: Sequence[str]) -> list[str]:
    """The contexts' sentences; where they are many, those that share the most words with the answer, in their order."""
    there = list(dict.fromkeys(one.text for context in contexts for one in sentences(context)))
    if len(there) <= MOST_SENTENCES:
        return there
    stems = set(content_stems(answer))
    ranked = sorted(range(len(there)), key=lambda at: (-len(stems.intersection(content_stems(there[at]))), at))
    return [there[at] for at in sorted(ranked[:MOST_SENTENCES])]
