"""Rendering off the loop: shared by those who wait, never older than the question."""

import asyncio
import threading

from lanewatch.pages.rendering import Rendering


def test_thirty_scrapers_cost_two_renderings() -> None:
    """One that is under way when they ask, and one for all of them, on a thread of its own."""
    begun, go_on, threads = threading.Event(), threading.Event(), []

    def render(openmetrics: bool) -> bytes:
        threads.append(threading.get_ident())
        begun.set()
        go_on.wait(20)
        return b"%d %d" % (len(threads), openmetrics)

    async def scrape() -> list[bytes]:
        rendering = Rendering(render)
        first = asyncio.create_task(rendering.text(openmetrics=False))
        await asyncio.to_thread(begun.wait, 20)
        rest = [asyncio.create_task(rendering.text(openmetrics=False)) for _ in range(30)]
        await asyncio.sleep(0)
        rest[0].cancel()
        go_on.set()
        texts = await asyncio.gather(first, *rest[1:], rendering.text(openmetrics=True))
        rendering.close()
        return texts

    texts = asyncio.run(scrape())

    assert texts == [b"1 0", *[b"2 0"] * 29, b"3 1"]
    assert len(threads) == 3
    assert threading.get_ident() not in threads
