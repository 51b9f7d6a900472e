"""`SplitPlan`: how to split a graph, as data that can be checked, stored with a run and carried out again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import ConfigError, Option
from gpcn.core.types import UNKNOWN, IntVector
from gpcn.graph import Graph, Split
from gpcn.graph.splitting import Shares, check_shares_outside_fold, folds, group_splits, random_splits, time_split

DEFAULT_COUNT = 5
MOST_SPLITS = 10_000  # every one of them is trained, and holds every labelled node
WAYS = {
    "count": Option("random_splits"),
    "folds": Option("folds"),
    "by": Option("split_by"),
    "group": Option("split_group"),
}
FEWEST_TO_SPLIT = 3
NOTABLE = 0.05  # a share of nodes that is off by more than this is worth a note


@dataclass(frozen=True, kw_only=True)
class SplitPlan:
    """How to split the labelled nodes of a graph.

    Args:
        count: number of random splits; with `group`, 0 means 5.
        train: share of the nodes that train.
        val: share of the nodes that validate; with `folds`, of the nodes outside the fold. The rest is test.
        calibration: share of the nodes that calibrate, reckoned like `val`.
        folds: number of folds, each the test part of one split, instead of `count` random splits.
        seed: decides every random draw.
        by: the column of times for a single split, of which the earliest nodes train and the latest test.
        group: the column of groups that must not be in two parts.
    """

    count: int = 0
    train: float = 0.5
    val: float = 0.25
    folds: int = 0
    seed: int = 0
    by: str | None = None
    group: str | None = None
    calibration: float = 0.0

    def __post_init__(self) -> None:
        for name in ("count", "folds", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} of a split plan is {getattr(self, name)}; expected 0 or more")
        for name in ("count", "folds"):
            if getattr(self, name) > MOST_SPLITS:
                raise ConfigError(
                    f"{WAYS[name]} asks for {getattr(self, name):,} splits; expected at most {MOST_SPLITS:,}, of which "
                    "ten tell most of what there is to know"
                )
        chosen = [f"{name} ({option})" for name, option in WAYS.items() if getattr(self, name)]
        if not chosen:
            raise ConfigError("a split plan names no way to split; expected one of count, folds, by or group")
        if len(chosen) > 1 and not (self.group and self.count and len(chosen) == 2):
            raise ConfigError(
                f"splits are asked for by {' and by '.join(chosen)}; expected one of them, or group with a count"
            )
        if self.folds:
            self._check_folds()
        else:
            Shares(self.train, self.val, self.calibration)

    def _check_folds(self) -> None:
        if self.folds < 2:
            raise ConfigError(f"{self.folds} fold was asked for; expected at least 2")
        if self.train != SplitPlan.train:
            raise ConfigError(f"train={self.train} has no meaning with folds, where all that is left trains; give val")
        check_shares_outside_fold(self.val, self.calibration)

    @property
    def needs_columns(self) -> bool:
        """Whether `make` needs times or groups."""
        return bool(self.by or self.group)

    def make(
        self,
        graph: Graph,
        *,
        times: npt.ArrayLike | None = None,
        groups: Sequence[Hashable] | npt.NDArray[np.generic] | None = None,
    ) -> Graph:
        """`graph` with these splits instead of those it has, and notes of what had to be decided.

        `times` (NaN where unknown) and `groups` (`""` where none) have an entry per node, for `by` and `group`.
        """
        shares = {"train": self.train, "val": self.val, "calibration": self.calibration}
        if self.by:
            if times is None:
                raise ConfigError(f"a split by {self.by!r} needs the times of the nodes; hand them over as times=")
            split = time_split(graph.target.strata, times, **shares)
            notes = self._notes_of_times(graph.target.strata, np.asarray(times, dtype=np.float64), split)
            return replace(graph, splits=(split,), notes=(*graph.notes, *notes))
        if self.group:
            if groups is None:
                raise ConfigError(f"a split by {self.group!r} needs the groups of the nodes; hand them over as groups=")
            splits = group_splits(graph, groups, count=self.count or DEFAULT_COUNT, seed=self.seed, **shares)
            notes = self._notes_of_groups(graph.target.strata, groups, splits)
            return replace(graph, splits=splits, notes=(*graph.notes, *notes))
        if self.folds:
            split_graph = folds(graph, count=self.folds, val=self.val, calibration=self.calibration, seed=self.seed)
            return replace(split_graph, notes=(*graph.notes, *self._notes_of_folds(graph)))
        return random_splits(graph, count=self.count, seed=self.seed, stratified=True, **shares)

    def _notes_of_times(self, labels: IntVector, times: npt.NDArray[np.float64], split: Split) -> list[str]:
        notes = []
        without = int(np.count_nonzero((labels != UNKNOWN) & np.isnan(times)))
        if without:
            notes.append(f"{without:,} labelled node(s) have no time in {self.by!r} and are in no part of the split")
        return notes + self._notes_of_shares((split,), f"nodes of equal {self.by!r} stay together")

    def _notes_of_groups(
        self, labels: IntVector, groups: Sequence[Hashable] | npt.NDArray[np.generic], splits: tuple[Split, ...]
    ) -> list[str]:
        notes = []
        alone = sum(bool(groups[int(node)] == "") for node in np.flatnonzero(labels != UNKNOWN))
        if alone:
            notes.append(f"{alone:,} labelled node(s) have no {self.group!r}; each is a group of its own")
        return notes + self._notes_of_shares(splits, f"nodes of one {self.group!r} stay together")

    def _notes_of_shares(self, splits: tuple[Split, ...], why: str) -> list[str]:
        """One note, of the split that is furthest from the shares, where that is far."""
        wanted = np.array([self.train, self.val, 1 - self.train - self.val - self.calibration, self.calibration])
        sizes = np.array([[part.size for part in split.parts().values()] for split in splits], dtype=np.float64)
        if not self.calibration:
            wanted, sizes = wanted[:-1], sizes[:, :-1]
        shares = sizes / sizes.sum(axis=1, keepdims=True)
        furthest = int(np.abs(shares - wanted).max(axis=1).argmax())
        if np.abs(shares[furthest] - wanted).max() <= NOTABLE:
            return []
        actual, requested = ("/".join(f"{100 * share:.0f}" for share in row) for row in (shares[furthest], wanted))
        uses = "train, validate, test and calibrate" if self.calibration else "train, validate and test"
        return [f"{why}, so split {furthest} has {actual} % of the nodes to {uses}, not {requested} %"]

    def _notes_of_folds(self, graph: Graph) -> list[str]:
        sizes = np.bincount(graph.target.strata[graph.labelled], minlength=len(graph.target.stratum_names))
        small = np.flatnonzero((sizes > 0) & (sizes < self.folds))
        if not small.size:
            return []
        name = graph.label_names[small[0]] if graph.label_names else str(small[0])
        return [
            f"{small.size} class(es) have fewer nodes than there are folds, the first is {name!r} with "
            f"{sizes[small[0]]}; some folds have none of them to test"
        ]


def default_split_plan(graph: Graph, seed: int = 0) -> SplitPlan | None:
    """For a graph that comes without splits, where nothing is said of them; none for one with some, or no labels."""
    if graph.splits or graph.labelled.size < FEWEST_TO_SPLIT:
        return None
    return SplitPlan(count=5, train=0.6, val=0.2, seed=seed)
