"""Text from files and users, before anybody reads it."""

from __future__ import annotations


def printable_text(text: object) -> str:
    """Text without control characters, nor those that turn or hide what stands around them."""
    return "".join(letter if letter.isprintable() else "�" for letter in str(text))
