"""Plain data as records: what does not fit is said with its place, what was found and what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from msgspec import Struct

from gpcn.core.errors import ConfigError
from gpcn.records.reading import Count, Number, decode, encode, parse


class Inches:
    def __init__(self, value: float) -> None:
        self.value = value

    def to_json(self) -> float:
        return self.value

    @classmethod
    def from_json(cls, payload: Any) -> Inches:
        if not isinstance(payload, float):
            raise ConfigError("inches are a number")
        return cls(payload)


@dataclass(frozen=True)
class Share:
    part: float = 0.5

    def __post_init__(self) -> None:
        if self.part > 1:
            raise ConfigError(f"a share is {self.part}; expected at most 1")


class Leaf(Struct, frozen=True):
    size: Count
    weight: Number | None = None
    kind: Literal["oak", "elm"] = "oak"


class Tree(Struct, frozen=True):
    name: str
    leaves: tuple[Leaf, ...]
    by_name: dict[str, Number] = {}
    height: Inches | None = None
    share: Share = Share()

    def __post_init__(self) -> None:
        if len(self.leaves) > 2:
            raise ValueError(f"leaves has {len(self.leaves)} entries; expected at most 2")


class Wood(Struct, frozen=True):
    tree: Tree


GOOD = {"name": "one", "leaves": [{"size": 3}]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 3}, "tree.name is 3; expected text"),
        ({"leaves": {}}, "tree.leaves is {}; expected a list"),
        ({"leaves": [{"size": 1}, {}]}, "tree.leaves[1].size is missing"),
        ({"leaves": [{"size": True}]}, "tree.leaves[0].size is True; expected a whole number"),
        ({"leaves": [{"size": 1.0}]}, "tree.leaves[0].size is 1.0; expected a whole number"),
        ({"leaves": [{"size": -1}]}, "tree.leaves[0].size is -1; expected a whole number >= 0"),
        ({"leaves": [{"size": 1, "weight": "x" * 60}]}, "tree.leaves[0].weight is 'xxx"),
        ({"leaves": [{"size": 1, "weight": float("nan")}]}, "tree.leaves[0].weight is nan; expected a number"),
        ({"leaves": [{"size": 1, "weight": 10**400}]}, "; expected a smaller number"),
        ({"leaves": [{"size": 1, "kind": "ash"}]}, "tree.leaves[0].kind is 'ash'; expected one of the values it can"),
        ({"leaves": [{"size": 1}] * 3}, "tree.leaves has 3 entries; expected at most 2"),
        ({"by_name": {"a": "b"}}, "tree.by_name[...] holds an entry that does not fit; expected a number"),
        ({"height": "tall"}, "tree.height: inches are a number"),
        ({"share": {"part": 2.0}}, "a share is 2.0; expected at most 1"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        decode({"tree": GOOD | change}, Wood)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 160


def test_the_whole_is_called_its_content() -> None:
    with pytest.raises(ValueError, match=r"its content is \[\]; expected names and values"):
        decode([], Tree)


def test_records_come_back_and_unknown_fields_are_passed_over() -> None:
    tree = decode(GOOD | {"height": 2.5, "of a later version": 1}, Tree)
    assert (tree.leaves, tree.height.value if tree.height else None) == ((Leaf(3),), 2.5)
    assert decode(encode(tree), Tree).leaves == tree.leaves
    assert encode(tree)["height"] == 2.5


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": "\\ud800"}', '{"a": 1', "", b"\xff"])
def test_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse(text)
