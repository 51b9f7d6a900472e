"""`Split`: nodes that train, that choose among models, that are only reported, and that calibrate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import DataError
from gpcn.core.types import IntVector
from gpcn.graph.validation import read_only_array

PARTS = ("train", "val", "test", "calibration")
SCORED = PARTS[:3]


def _no_nodes() -> IntVector:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """Parts of the nodes of a graph.

    Each is a sorted vector of node positions; no node is in two, and any of them may be empty.

    Args:
        train: nodes whose labels are learned from.
        val: nodes that choose among epochs and models.
        test: nodes that are only ever reported.
        calibration: nodes that neither train nor choose, kept for what needs untouched labels besides the test.
    """

    train: IntVector = field(default_factory=_no_nodes)
    val: IntVector = field(default_factory=_no_nodes)
    test: IntVector = field(default_factory=_no_nodes)
    calibration: IntVector = field(default_factory=_no_nodes)

    def __post_init__(self) -> None:
        seen: dict[str, IntVector] = {}
        for name, given in self.parts().items():
            nodes = _checked_part(given, name)
            for other, others in seen.items():
                shared = np.intersect1d(others, nodes, assume_unique=True)
                if shared.size:
                    raise DataError(
                        f"a split puts {shared.size} node(s) in both {other} and {name}, the first is node "
                        f"{shared[0]}; the parts must not overlap"
                    )
            seen[name] = nodes
            object.__setattr__(self, name, nodes)

    @classmethod
    def from_masks(
        cls,
        train: npt.ArrayLike | None = None,
        val: npt.ArrayLike | None = None,
        test: npt.ArrayLike | None = None,
        calibration: npt.ArrayLike | None = None,
    ) -> Split:
        """From boolean vectors of length N; a part without one is empty."""
        given = zip(PARTS, (train, val, test, calibration), strict=True)
        masks = {name: np.asarray(mask) for name, mask in given if mask is not None}
        if any(mask.dtype.kind not in "biu" for mask in masks.values()):
            kinds = ", ".join(str(mask.dtype) for mask in masks.values())
            raise DataError(f"a split's masks hold {kinds}; expected true or false")
        return cls(**{name: np.flatnonzero(mask) for name, mask in masks.items()})

    @classmethod
    def from_codes(cls, codes: npt.NDArray[np.integer]) -> Split:
        """From a number per node, as `codes` gives them."""
        if codes.size and not (codes.min() >= 0 and codes.max() <= len(PARTS)):
            raise ValueError(f"a split has unknown codes; expected 0 to {len(PARTS)}")
        return cls(**{name: np.flatnonzero(codes == code) for code, name in enumerate(PARTS, start=1)})

    def parts(self) -> dict[str, IntVector]:
        """All four parts by name."""
        return {name: getattr(self, name) for name in PARTS}

    def scored(self) -> dict[str, IntVector]:
        """The parts whose predictions are scored."""
        return {name: getattr(self, name) for name in SCORED}

    def mask(self, part: str, num_nodes: int) -> npt.NDArray[np.bool_]:
        """One part as a boolean vector."""
        mask = np.zeros(num_nodes, dtype=bool)
        mask[getattr(self, part)] = True
        return mask

    def codes(self, num_nodes: int) -> npt.NDArray[np.uint8]:
        """The part of every node as a number: 0 none, 1 train, 2 val, 3 test, 4 calibration."""
        codes = np.zeros(num_nodes, dtype=np.uint8)
        for code, nodes in enumerate(self.parts().values(), start=1):
            codes[nodes] = code
        return codes

    def names(self, num_nodes: int) -> npt.NDArray[np.object_]:
        """The part of every node as a word; `None` for a node in no part."""
        return np.array([None, *PARTS], dtype=object)[self.codes(num_nodes)]

    def equals(self, other: Split) -> bool:
        """Whether the same nodes are in the same parts."""
        return all(np.array_equal(nodes, getattr(other, name)) for name, nodes in self.parts().items())


PURPOSES = {
    "train": "to learn from",
    "val": "by whose scores training stops and models are chosen",
    "test": "which no model has learned from or was chosen by",
}


def missing_part(whose: str, part: str) -> DataError:
    """An error for a split in which a `part` is empty that is needed."""
    return DataError(f"{whose} has no {part} nodes, {PURPOSES[part]}; put some labelled nodes into {part}")


def check_splits(splits: Iterable[object], known: npt.NDArray[np.bool_]) -> None:
    """Refuse splits with nodes of which nothing is `known`."""
    for number, split in enumerate(splits):
        if not isinstance(split, Split):
            raise DataError(f"split {number} is of type {type(split).__name__}; expected Split")
        for name, nodes in split.parts().items():
            if nodes.size and nodes[-1] >= known.size:
                raise DataError(
                    f"split {number} puts node {nodes[-1]} in {name}, but nodes go from 0 to {known.size - 1}"
                )
            unlabelled = nodes[~known[nodes]]
            if unlabelled.size:
                raise DataError(
                    f"split {number} puts {unlabelled.size} node(s) without a label in {name}, the first is node "
                    f"{unlabelled[0]}; leave nodes to be predicted out of the splits"
                )


def _checked_part(given: object, name: str) -> IntVector:
    """Sorted, distinct positions."""
    part = np.asarray(given)
    if part.size == 0:
        part = _no_nodes()
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise DataError(f"a split's {name} part is {part.dtype} of shape {part.shape}; expected node positions")
    ordered = np.unique(part.astype(np.int64))
    if ordered.size != part.size:
        raise DataError(f"a split names a node twice in {name}; expected each node once")
    if ordered.size and ordered[0] < 0:
        raise DataError(f"a split names node {ordered[0]} in {name}; nodes are numbered from 0")
    frozen: IntVector = read_only_array(ordered)
    return frozen
