"""Sentence embeddings made on this machine, for what a trace does not carry: an interface of one method, and who implements it.

Nothing is loaded before `local_embedder` is called, which takes the extra `lanewatch[local]`: onnxruntime, and a wheel of
data with an int8 all-MiniLM-L6-v2. No PyTorch, no download, no text that leaves the process. A call takes 5 ms for a question, 80 for a long
text, so it never belongs on the thread that reads traces.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, vectors out. `name` stands beside whatever is worked out with it: vectors of two models never meet."""

    @property
    def name(self) -> str:
        """The model and its form."""

    @property
    def dimensions(self) -> int:
        """The length of each vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 a text, (n, dimensions), whatever else is in the call. Not to be called on two threads at once."""


class EmbedderUnavailableError(Exception):
    """There is no model to embed with; `str()` says what to install."""


def local_embedder() -> Embedder:
    """all-MiniLM-L6-v2 in int8, on one thread of this machine. Takes 160 MB of memory and half a second to load.

    Raises EmbedderUnavailableError where the extra is not installed, or its model is not the one that was tried.
    """
    from lanewatch.monitors.embedding.minilm import MiniLm  # noqa: PLC0415 - it loads the extra's libraries

    return MiniLm()
