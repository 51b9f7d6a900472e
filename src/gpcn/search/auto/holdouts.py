"""Where candidates are judged: nodes whose labels no judged prediction has seen.

A holdout is either a split of the graph, whose validation nodes judge, each at the epoch that the other half of them
chooses (`training.cross_fitting`); or, on small graphs, one repetition of cross-validation *inside* the training
and validation nodes of a split: every one of these nodes is held out once, and the rest trains and chooses the epoch.
Test nodes of the split are in neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpcn.core.errors import Option, TrainingError
from gpcn.core.types import IntVector
from gpcn.graph import Graph, Split
from gpcn.graph.splitting import deal_split_parts
from gpcn.records import layout
from gpcn.tasks.metrics import find_metric
from gpcn.training.probe import validation_halves

FEW_VALIDATION_NODES = 250  # up to which they are too few to choose by, where one or two splits are given
MOST_IN_FOLDS = 3000  # training and validation nodes up to which cross-validation is affordable
TOO_FEW = 30  # validation nodes by which nothing can be chosen, whatever it costs
FOLDS, REPETITIONS = 4, 3
SMALL = 1500  # nodes up to which all given splits can judge
SEARCH_SPLITS, MOST_SPLITS = 3, 10


@dataclass(frozen=True, eq=False)
class Holdout:
    """Trainings on `splits`, which together predict `nodes`.

    `outer` is the number of the graph's split, or `None` for cross-validation inside one. `parts` are positions in
    `nodes` that are scored one by one, for probabilities of different trainings cannot be ranked together.
    """

    name: str
    number: int
    splits: tuple[Split, ...]
    nodes: IntVector
    parts: tuple[IntVector, ...]
    outer: int | None = None

    def score(self, graph: Graph, probabilities: npt.NDArray[Any], side: int | None = None) -> float | None:
        """The score of `probabilities` of `nodes`; of one half of them where `side` is 0 or 1."""
        parts = self.parts if side is None else (self.side(side),)
        labels = graph.target.values[self.nodes]
        scores, sizes = [], []
        for part in parts:
            value = graph.task.score(probabilities[part], labels[part], graph.metric)
            if value is not None:
                scores.append(value)
                sizes.append(part.size)
        return float(np.average(scores, weights=sizes)) if scores else None

    def baseline(self, graph: Graph) -> npt.NDArray[np.float64]:
        """Return what who knows the answers of the training nodes alone would predict for `nodes`."""
        position = {int(node): index for index, node in enumerate(self.nodes)}
        known = [graph.task.baseline(graph.target.values[split.train]) for split in self.splits]
        predicted = np.zeros((self.nodes.size, *known[0].shape))
        for split, constant in zip(self.splits, known, strict=True):
            judged = self.nodes if self.outer is not None else split.test
            predicted[[position[int(node)] for node in judged]] = constant
        return predicted

    def side(self, number: int) -> IntVector:
        """Positions of the first or second half of the nodes."""
        return self.parts[number] if len(self.parts) == 2 else self.parts[0][number::2]


def holdout_of_split(graph: Graph, number: int) -> Holdout:
    """Split `number`, judged by its validation nodes."""
    split = graph.splits[number]
    first, second = validation_halves(graph, split.val, number)
    whole = first.size + second.size > split.val.size
    parts = (np.sort(first),) if whole else (first, second)
    return Holdout(layout.split_name(number), number, (split,), split.val, parts, outer=number)


def holdout_of_folds(graph: Graph, number: int, repetition: int, seed: int) -> Holdout:
    """One repetition of cross-validation inside the training and validation nodes of split `number`."""
    outer = graph.splits[number]
    rng = np.random.default_rng([seed, number, repetition])
    pool = rng.permutation(np.concatenate([outer.train, outer.val]))
    pool = pool[np.argsort(graph.target.strata[pool], kind="stable")]  # class by class, so that folds have all of them
    fold = np.arange(pool.size) % FOLDS
    share = outer.val.size / pool.size
    splits = []
    for held in range(FOLDS):
        rest = pool[fold != held]
        size = min(max(1, round(share * rest.size), min(rest.size // 5, 50)), rest.size - 1)
        part = deal_split_parts(rest.size - size, size)
        splits.append(Split(train=rest[part == 0], val=rest[part == 1], test=pool[fold == held]))
    nodes = np.concatenate([split.test for split in splits])
    everything = rng.permutation(nodes.size)
    everything = everything[np.argsort(graph.target.strata[nodes[everything]], kind="stable")]
    return Holdout(f"folds-{number:02d}-{repetition}", 1000 * (repetition + 1), tuple(splits), nodes, (everything,))


@dataclass(frozen=True)
class Stage:
    """How thoroughly a candidate is judged: in which holdouts, for how many epochs at most."""

    holdouts: tuple[Holdout, ...]
    epochs: int


def search_stages(
    graph: Graph, numbers: Sequence[int], epochs: int, seed: int, *, folds_fit: bool = True
) -> tuple[Stage, ...]:
    """The stages of a search on these splits: few epochs and holdouts for all, everything for the best.

    Where validation nodes are few they are cross-validated, unless that does not fit the budget.
    """
    outer = [holdout_of_split(graph, number) for number in numbers]
    short, longer = max(2, epochs // 10), max(2, epochs // 3)
    if folds_fit and needs_cross_validation(graph, numbers):
        folds = [holdout_of_folds(graph, number, r, seed) for r in range(REPETITIONS) for number in numbers]
        per = len(numbers)
        return tuple(Stage(tuple(folds[: (r + 1) * per]), epochs) for r in range(REPETITIONS))
    if not _scorable(graph, outer[0]):
        title = find_metric(graph.metric).title
        raise TrainingError(
            f"the validation nodes of split {outer[0].number} have no score: all of one class, where {title} needs "
            f"two; choose another {Option('metric')}, or other splits"
        )
    if graph.num_nodes <= SMALL and len(outer) > 1:
        stages = [Stage(tuple(outer[:SEARCH_SPLITS]), epochs), Stage(tuple(outer[:MOST_SPLITS]), epochs)]
        return tuple(stages[: 1 if len(outer) <= SEARCH_SPLITS else 2])
    first, search = tuple(outer[:1]), tuple(outer[:SEARCH_SPLITS])
    stages = [Stage(first, short), Stage(first, longer)]
    if len(search) > 1:
        stages.append(Stage(search, longer))
    return (*stages, Stage(search, epochs))


def needs_cross_validation(graph: Graph, numbers: Sequence[int]) -> bool:
    """Whether validation nodes alone tell too little, and their labels can be used better."""
    if len(numbers) >= SEARCH_SPLITS:
        return False
    splits = [graph.splits[number] for number in numbers]
    fewest = min(split.val.size for split in splits)
    sizes = [split.train.size + split.val.size for split in splits]
    few = fewest <= FEW_VALIDATION_NODES and max(sizes) <= MOST_IN_FOLDS
    return (few or fewest <= TOO_FEW) and min(sizes) >= 5 * FOLDS


def _scorable(graph: Graph, holdout: Holdout) -> bool:
    return graph.task.is_defined(graph.target.values[holdout.nodes], graph.metric)
