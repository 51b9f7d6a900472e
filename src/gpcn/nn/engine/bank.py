"""Banks of operators: what a node reads, from where, and how it is weighed.

An operator has a name, `direction-normalization`:

| part | words |
| --- | --- |
| direction | `out`: what a node points to; `in`: what points to it; `both`: either |
| normalization | `symmetric`, `row` (means over neighbours), `raw` (sums: the size of a degree stays visible) |
| `+loops` | every node is linked to itself too |
| `:type` | links of that type alone; `:*` is one operator for each type of the graph |
| `^k` | up to power `k` only; the model's `layers` otherwise |

`paper` is the paper's one operator, symmetric with self-loops, read in the direction of the training configuration.
A bank is a list of names with commas between them, or one of the `BANKS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from gpcn.core.errors import ConfigError
from gpcn.nn.engine.adjacency import DIRECTIONS, Direction, Normalization

PAPER = "paper"
EVERY_TYPE = "*"
NORMALIZATIONS: dict[str, Normalization] = {"symmetric": "symmetric", "row": "row", "raw": "none"}
BANKS: dict[str, str] = {
    "symmetric": "both-symmetric+loops",
    "directions": "out-row,in-row",
    "sums": "out-row,in-row,out-raw^1,in-raw^1",
    "rich": "both-symmetric+loops,out-row,in-row,out-raw^1,in-raw^1",
    "typed": "out-row:*,in-row:*",
    "links": "out-raw,in-raw",
}
"""Banks with a name of their own; on an undirected graph `out` and `in` are one."""
_NAME = re.compile(
    r"(?P<direction>[a-z]+)-(?P<weights>[a-z]+)(?P<loops>\+loops)?(:(?P<type>.+?))?(\^(?P<power>[0-9]{1,6}))?"
)


@dataclass(frozen=True)
class OperatorSpec:
    """One operator by what it reads.

    Args:
        direction: `out`, `in` or `both`; `None` as the links are read otherwise.
        normalization: of the matrix.
        self_loops: whether every node is linked to itself.
        relation: one type of links alone.
        power: its highest power, where it is lower than the model's.
    """

    direction: Direction | None = None
    normalization: Normalization = "symmetric"
    self_loops: bool = True
    relation: str | None = None
    power: int | None = None

    def __str__(self) -> str:
        if self == PAPER_OPERATOR:
            return PAPER
        weights = "raw" if self.normalization == "none" else self.normalization
        kind = "" if self.relation is None else f":{self.relation}"
        power = "" if self.power is None else f"^{self.power}"
        return f"{self.direction}-{weights}{'+loops' if self.self_loops else ''}{kind}{power}"

    @property
    def title(self) -> str:
        """The name without the power, which is no matter of the matrix."""
        return str(replace(self, power=None))


PAPER_OPERATOR = OperatorSpec()
Bank = tuple[OperatorSpec, ...]


def parse(text: str) -> Bank:
    """Return the operators that `text` names; a `ConfigError` says what may stand there."""
    names = [name.strip() for name in BANKS.get(text, text).split(",")]
    bank = tuple(_operator(name) for name in names)
    if len(set(bank)) != len(bank):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"operators name {twice!r} twice; expected each once")
    return bank


def resolve(bank: Bank, *, directed: bool = True, relations: Sequence[str] = ()) -> Bank:
    """`bank` for a graph: `:*` becomes one operator per type, and where links have no direction all read `both`."""
    resolved: list[OperatorSpec] = []
    for operator in bank:
        if operator.relation == EVERY_TYPE:
            members = [replace(operator, relation=name) for name in relations] or [replace(operator, relation=None)]
        else:
            if operator.relation is not None and operator.relation not in relations:
                types = ", ".join(relations) or "none"
                raise ConfigError(f"operator {operator} names a type of links; the types of this graph: {types}")
            members = [operator]
        if not directed:
            members = [member if member == PAPER_OPERATOR else replace(member, direction="both") for member in members]
        resolved += [member for member in members if member not in resolved]
    return tuple(resolved)


def operator_depths(bank: Bank, layers: int) -> tuple[int, ...]:
    """Return the highest power of each operator in a model of `layers`."""
    return tuple(min(layers, operator.power or layers) for operator in bank)


def part_names(bank: Bank, layers: int) -> list[str]:
    """Return the name of each power, power 0 first: by hop, and by operator where it is not the paper's alone."""
    names = ["features"]
    for operator, depth in zip(bank, operator_depths(bank, layers), strict=True):
        prefix = "" if bank == (PAPER_OPERATOR,) else f"{operator.title} "
        names += [f"{prefix}hop {k}" for k in range(1, depth + 1)]
    return names


def _operator(name: str) -> OperatorSpec:
    if name == PAPER:
        return PAPER_OPERATOR
    match = _NAME.fullmatch(name)
    if match is None or match["direction"] not in DIRECTIONS or match["weights"] not in NORMALIZATIONS:
        raise ConfigError(
            f"operator {name!r} is unknown; expected paper, or direction-normalization of out, in, both and symmetric, "
            f"row, raw, such as out-row or in-raw+loops^1, or a bank: {', '.join(BANKS)}"
        )
    power = None if match["power"] is None else int(match["power"])
    if power == 0:
        raise ConfigError(f"operator {name!r} has power 0; expected at least 1")
    return OperatorSpec(
        cast(Direction, match["direction"]),
        NORMALIZATIONS[match["weights"]],
        match["loops"] is not None,
        match["type"],
        power,
    )
