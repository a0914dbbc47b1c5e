"""Closed lists of words that are labels, each with the sentence that tables of the documentation and reports show for it."""

from enum import StrEnum
from typing import Self


class Explained(StrEnum):
    """Base of such a list: `NAME = "label", "what it means"`."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member
