"""The rows that a training step computes and the memory it computes them in, laid out once for all steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.training_step.row_region import Region, region_around, stack_regions


@dataclass(frozen=True)
class Sizes:
    """Of a model: the widths of its feature layers, its classes, and the highest power of each operator."""

    widths: tuple[int, ...]
    classes: int
    depths: tuple[int, ...]

    @property
    def powers(self) -> int:
        """The number of terms of a logit: power 0, then those of each operator."""
        return 1 + sum(self.depths)


class PassMemory:
    """The memory that a pass forwards over some rows writes.

    Attributes:
        hidden: the result of each feature layer, `[n, width]`.
        product_t: `(X_T V)ᵀ`, `[powers * C, n]`.
        product: the same as `[powers, n, C]`.
        powers: `X_T V_k + 1 b_k` of every power, `[n, C]`; Horner's rule leaves the logits in the first.
        every_power: all of them, `[powers, n, C]`.
        joined: the rows of a link term, `[n, C]`.
    """

    def __init__(self, hidden: Sequence[Tensor], sizes: Sizes) -> None:
        count, like = hidden[-1].shape[0], hidden[-1]
        self.hidden = tuple(hidden)
        self.product_t = like.new_empty(sizes.powers * sizes.classes, count)
        self.product = self.product_t.view(sizes.powers, sizes.classes, count).transpose(1, 2)
        self.every_power = like.new_empty(sizes.powers, count, sizes.classes)
        self.powers = self.every_power.unbind(0)
        self.joined = like.new_empty(count, sizes.classes)


class LossMemory:
    """The memory that the loss of `count` training nodes writes, and the errors of all rows of the step behind it.

    Attributes:
        logits: of the training nodes, then their errors, `[n, C]`.
        error: the gradient of the logits of all rows, `[rows, C]`, zero but for training nodes.
        stack: `[error, Oᵀ error, ...]` of every operator, `[rows, powers, C]`.
        columns: each of these, `[rows, C]`.
        flat: all of them, `[rows, powers * C]`.
        turns: two results of products, used in turn, `[rows, C]`.
    """

    def __init__(self, count: int, rows: int, sizes: Sizes, like: Tensor) -> None:
        self.logits = like.new_empty(count, sizes.classes)
        self.error = like.new_zeros(rows, sizes.classes)
        self.stack = like.new_empty(rows, sizes.powers, sizes.classes)
        self.columns, self.flat = self.stack.unbind(1), self.stack.view(rows, -1)
        self.turns = tuple(like.new_empty(rows, sizes.classes) for _ in range(2))


@dataclass(frozen=True)
class StepPlan:
    """The rows that a step computes, and its memory.

    Attributes:
        training: what the loss depends on.
        evaluation: what the nodes judged depend on, where that is a pass of its own.
        both: training and evaluation below each other, where one pass over both has fewer calls; else `None`.
        train: positions of the training nodes in `training`.
        judged: positions in `evaluation` of the nodes judged; `None` where all are.
        forwards: memory of the pass over `training` or `both`.
        evaluating: the same for `evaluation`, where that is a pass of its own.
        loss: of the loss and of the way back from it.
        errors: the gradient of each feature layer's result, `[n, width]`.
        dropped: dense features with some entries zeroed, `[n, q]`; `None` where there are none.
        link_errors: those of the vectors per node, `[N, C]`, zero but for rows of `training`; by link operator.
        judged_logits: `[N, C]`, missing (nan) but for nodes judged; `None` where all are.
        chosen_logits: of the nodes judged, `[judged, C]`.
    """

    training: Region
    evaluation: Region
    both: Region | None
    train: Tensor
    judged: Tensor | None
    forwards: PassMemory
    evaluating: PassMemory | None
    loss: LossMemory
    errors: tuple[Tensor, ...]
    dropped: Tensor | None
    link_errors: tuple[Tensor, ...]
    judged_logits: Tensor | None
    chosen_logits: Tensor | None


def plan_training_step(
    whole_graph: Region, sizes: Sizes, train: Tensor, judged: Tensor | None, drops: bool, like: Tensor
) -> StepPlan:
    """Return the rows that training computes, and those that the nodes judged need, where that is a pass of its own.

    Args:
        whole_graph: the whole graph.
        sizes: of the model.
        train: numbers of the training nodes.
        judged: numbers of the nodes whose logits are wanted (default: all).
        drops: whether training drops entries, so that evaluation is not the same pass.
        like: a tensor of the type of the weights.
    """
    training = evaluation = whole_graph
    if drops:
        training = region_around(train, whole_graph, sizes.depths)
    if judged is not None:
        nodes = judged if drops else torch.cat([train, judged])
        evaluation = region_around(nodes, whole_graph, sizes.depths)
        training = training if drops else evaluation
    both = stack_regions(training, evaluation, sum(sizes.widths)) if drops else None
    rows, evaluated = len(training), len(evaluation) if drops and both is None else 0
    # an evaluation's results are not needed any more when the errors of training are written
    scratch = [like.new_empty(max(rows, evaluated), width) for width in sizes.widths]
    hidden = [like.new_empty(len(both or training), width) for width in sizes.widths]
    partial = judged is not None and evaluation.rows is not None
    dense = drops and both is None and not isinstance(training.x, SparseOperator)
    nodes_and_classes = (len(whole_graph), sizes.classes)
    return StepPlan(
        training,
        evaluation,
        both,
        training.at(train),
        evaluation.at(cast(Tensor, judged)) if partial else None,
        PassMemory(hidden, sizes),
        PassMemory([part[:evaluated] for part in scratch], sizes) if evaluated else None,
        LossMemory(len(train), rows, sizes, like),
        tuple(part[:rows] for part in scratch),
        torch.empty_like(cast(Tensor, training.x)) if dense else None,
        tuple(like.new_zeros(nodes_and_classes) for _ in whole_graph.links),
        like.new_full(nodes_and_classes, torch.nan) if partial else None,
        like.new_empty(len(cast(Tensor, judged)), sizes.classes) if partial else None,
    )
