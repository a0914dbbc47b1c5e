"""`python -m tests.judge_server [MODE]` serves until it is interrupted; the first line on stdout is the base URL."""

import sys
import threading

from tests.judge_server.server import JudgeServer

with JudgeServer(sys.argv[1] if len(sys.argv) > 1 else "ok") as server:
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    threading.Event().wait()
