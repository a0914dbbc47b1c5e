"""Things by the name of a tool, so that those of one tool are found without looking at all of them."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Generic, TypeVar

from lanewatch.adapters.identity import SEPARATORS, fold, same_name

Item = TypeVar("Item")


class NameIndex(Generic[Item]):
    """Items by the name of a tool; `find` gives those that `identity.same_name` takes for the same tool's."""

    def __init__(self) -> None:
        self._whole: dict[str, list[tuple[str, Item]]] = defaultdict(list)
        self._tails: dict[str, list[tuple[str, Item]]] = defaultdict(list)

    def add(self, name: str, item: Item) -> None:
        """Take an item in."""
        whole, tail = fold(name), _tail(name)
        self._whole[whole].append((name, item))
        if tail and tail != whole:
            self._tails[tail].append((name, item))

    def find(self, name: str) -> Iterator[Item]:
        """The items of this tool's: first those of equal names, then by the name without prefix, each as it was added."""
        whole, tail = fold(name), _tail(name)
        yield from (item for _, item in self._whole.get(whole, ()))
        if tail and tail != whole:
            yield from (item for other, item in self._whole.get(tail, ()) if same_name(other, name))
        yield from (item for other, item in self._tails.get(whole, ()) if same_name(other, name))


def _tail(name: str) -> str:
    """The folded name without a plugin's or server's prefix; empty where it has none."""
    parts = SEPARATORS.split(name)
    return fold(parts[-1]) if len(parts) > 1 else ""
