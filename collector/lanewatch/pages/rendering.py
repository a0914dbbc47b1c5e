"""Renders the metrics on a thread of its own, once for all who wait: 7,400 series take a tenth of a second.

Invariant: whoever asks gets what was true after they asked. Those who ask while a rendering is under way share the next one.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Rendering:
    """`render(openmetrics)` off the event loop. Belongs to the loop's thread; `render` is called on another one."""

    def __init__(self, render: Callable[[bool], bytes]) -> None:
        self._render = render
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lanewatch-rendering")
        self._turn = asyncio.Lock()
        self._next: dict[bool, asyncio.Task[bytes]] = {}

    async def text(self, openmetrics: bool) -> bytes:
        """The metrics as they stand, in one format or the other."""
        task = self._next.get(openmetrics)
        if task is None:
            task = self._next[openmetrics] = asyncio.create_task(self._render_next(openmetrics))
        return await asyncio.shield(task)  # one scraper that goes away must not take the text from the others

    def close(self) -> None:
        """End the thread."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def _render_next(self, openmetrics: bool) -> bytes:
        async with self._turn:
            del self._next[openmetrics]
            return await asyncio.get_running_loop().run_in_executor(self._worker, self._render, openmetrics)
