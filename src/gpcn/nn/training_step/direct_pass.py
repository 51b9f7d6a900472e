"""One training pass of a model that is linear after `X_T`, forward and backward written out.

Autograd keeps a node for every operation; on graphs of a few thousand nodes that costs more than the arithmetic. Here
feature layers, one dense product, Horner's rule and the loss are a list of kernels; from the weights to `V`, `b` and
`U` (`BankModel.polynomial_terms`) there is a rule per kind of model (`direct_terms`), so that every member of the
family and every bank has it. Rows that neither the loss nor the nodes to be judged depend on are left out
(`row_region`). The gradients are those of `loss.backward()` to rounding, and random draws are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard, cast

import torch
from torch import Tensor

from gpcn.nn.bank_model import BankModel, PolynomialTerms
from gpcn.nn.base import Features, NodeClassifier, as_features
from gpcn.nn.engine.adjacency import AdjacencyLike
from gpcn.nn.engine.dropout import RowDropout, SparseDropout
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.engine.polynomial import horner_, powers_
from gpcn.nn.layers import Linear
from gpcn.nn.training_step.direct_terms import terms_rule
from gpcn.nn.training_step.row_region import Region, region_of_all_rows
from gpcn.nn.training_step.step_plan import PassMemory, Sizes, StepPlan, plan_training_step

LossWithError = Callable[[Tensor], tuple[Tensor, Tensor]]


def can_step_directly(model: NodeClassifier, x: Features, adjacency: AdjacencyLike) -> TypeGuard[BankModel]:
    """Whether `DirectPass` can stand for `model`: one block, collapsed, dropout up to `X_T` alone, on a CPU."""
    if not isinstance(model, BankModel) or getattr(model, "blocks", 1) > 1 or model.device.type != "cpu":
        return False
    if getattr(model, "dropout_mode", "collapsible") == "residual" and getattr(model, "dropout", 0.0) > 0:
        return False
    bound = model.bind(adjacency, None, x.shape[0])
    width = cast(Linear, model.features.layers[-1]).weight.shape[1]
    return model.order_for(bound.operators, x.shape[0], width) == "collapsed"


class DirectPass:
    """Loss, gradients and logits of a model on one graph.

    Args:
        model: one that `can_step_directly` accepts.
        x: features, `[N, q]`.
        adjacency: links.
        train: numbers of the training nodes, `[n]`.
        loss_with_error: of logits `[n, C]` of the training nodes, their loss and its gradient, which may take their
            place.
        judged: numbers of the nodes whose logits are wanted (default: all).
    """

    def __init__(
        self,
        model: BankModel,
        x: Features,
        adjacency: AdjacencyLike,
        train: Tensor,
        loss_with_error: LossWithError,
        judged: Tensor | None = None,
    ) -> None:
        self.model, self.train, self.judged = model, train, judged
        x = as_features(x)
        bound = model.bind(adjacency, None, x.shape[0])
        self.whole_graph = region_of_all_rows(x, bound.operators, bound.links)
        self.layers = [cast(Linear, layer) for layer in model.features.layers]
        widths = tuple(layer.weight.shape[1] for layer in self.layers)
        self.sizes = Sizes(widths, model.num_classes, tuple(model.depths))
        numbers = {id(operator): number for number, operator in enumerate(bound.operators)}
        joins = [numbers.get(id(operator)) for operator in bound.links]
        self.first_powers = [None if join is None else 1 + sum(model.depths[:join]) for join in joins]
        self.loss_with_error = loss_with_error
        self.terms_rule = terms_rule(model)
        self.gradients = [
            (torch.zeros_like(layer.weight), None if layer.bias is None else torch.zeros_like(layer.bias))
            for layer in self.layers
        ]
        self.g_terms = torch.empty(self.sizes.powers, self.sizes.classes, widths[-1], dtype=model.dtype)
        self.g_bias = self.g_terms.new_empty(self.sizes.powers, self.sizes.classes)
        self.plans: dict[bool, StepPlan] = {}
        self.sparse_dropout: SparseDropout | None = None
        self.row_dropouts: dict[int, RowDropout] = {}

    def __call__(self, drops: bool) -> tuple[Tensor, Tensor]:
        """Set every weight's gradient; the training loss, and logits `[N, C]` with nothing dropped.

        Where only some nodes are `judged`, the logits of others may be missing (nan). Logits and gradients are the
        same memory in every call.
        """
        with torch.no_grad():
            plan = self._plan(drops)
            terms = self.terms_rule.forward()
            clean = None if plan.evaluating is None else self._evaluated(plan, plan.evaluating, terms)
            count = len(plan.training)
            x = self._dropped(plan) if drops else plan.training.x
            hidden = self._hidden(x if plan.both is None else plan.both.x, plan.forwards, count if drops else 0)
            logits = self._logits(plan.both or plan.training, plan.forwards, terms)
            if plan.both is not None:
                clean, logits = logits[count:], logits[:count]
                hidden = [result[:count] for result in hidden]
            loss = self._loss(plan, logits)
            self.terms_rule.backward(self._backward(plan, x, hidden, terms, drops))
            return loss, self._of_all(plan, logits if clean is None else clean)

    def _plan(self, drops: bool) -> StepPlan:
        if drops not in self.plans:
            self.plans[drops] = plan_training_step(
                self.whole_graph, self.sizes, self.train, self.judged, drops, self.g_bias
            )
        return self.plans[drops]

    def _evaluated(self, plan: StepPlan, memory: PassMemory, terms: PolynomialTerms) -> Tensor:
        """The logits with nothing dropped."""
        self._hidden(plan.evaluation.x, memory, 0)
        return self._logits(plan.evaluation, memory, terms)

    def _of_all(self, plan: StepPlan, logits: Tensor) -> Tensor:
        """`[N, C]`, with the logits of the nodes judged, from those of the rows evaluated."""
        if plan.judged is None or plan.judged_logits is None:
            return logits
        chosen = torch.index_select(logits, 0, plan.judged, out=plan.chosen_logits)
        return plan.judged_logits.index_copy_(0, cast(Tensor, self.judged), chosen)

    def _dropped(self, plan: StepPlan) -> Features:
        """The features of training rows with some entries zeroed, in the same memory each time, that of `both` too."""
        share, region = self.model.features.dropout, plan.training
        x, joined = region.x, None if plan.both is None else plan.both.x
        if share == 0:
            return x
        if not isinstance(x, SparseOperator):
            target = cast(Tensor, plan.dropped) if joined is None else cast(Tensor, joined)[: len(region)]
            return self._row_dropout(-1, share, x.shape[1], region)(target.copy_(x))
        if self.sparse_dropout is None or self.sparse_dropout.p != share:
            stored = cast(SparseOperator, self.whole_graph.x).nnz
            values = None if joined is None else cast(SparseOperator, joined).csr.values[: x.nnz]
            self.sparse_dropout = SparseDropout(x, share, region.entries, stored, values)
        return self.sparse_dropout()

    def _row_dropout(self, number: int, share: float, width: int, region: Region) -> RowDropout:
        """That of layer `number`, or -1 for features."""
        existing = self.row_dropouts.get(number)
        if existing is None or existing.p != share:
            existing = self.row_dropouts[number] = RowDropout(share, width, region.rows, len(self.whole_graph))
        return existing

    def _hidden(self, x: Features, memory: PassMemory, dropped: int) -> Sequence[Tensor]:
        """The result of each feature layer, the last is `X_T`, with dropout in the first `dropped` rows."""
        before = x
        for number, (layer, current) in enumerate(zip(self.layers, memory.hidden, strict=True)):
            weight, bias = layer.weight, layer.bias
            if isinstance(before, SparseOperator):
                before.matrix.product(weight, current)
                if bias is not None:
                    current.add_(bias)
            elif bias is None:
                torch.mm(before, weight, out=current)
            else:
                torch.addmm(bias, before, weight, out=current)
            before = current.relu_()
            share = self._dropout(number)
            if dropped and share > 0:
                self._row_dropout(number, share, current.shape[1], self.plans[True].training)(current[:dropped])
        return memory.hidden

    def _dropout(self, number: int) -> float:
        features = self.model.features
        return features.last_dropout if number == len(self.layers) - 1 else features.dropout

    def _scale(self, number: int, drops: bool) -> float:
        """By what dropout multiplied the entries of a layer's result that it left."""
        return 1 / (1 - self._dropout(number)) if drops else 1.0

    def _logits(self, region: Region, memory: PassMemory, terms: PolynomialTerms) -> Tensor:
        torch.mm(terms.weight.flatten(0, 1), memory.hidden[-1].T, out=memory.product_t)  # few long rows: fastest
        if terms.bias is None:
            memory.every_power.copy_(memory.product)
        else:
            torch.add(memory.product, terms.bias.unsqueeze(1), out=memory.every_power)
        for link, first in zip(terms.links, self.first_powers, strict=True):
            if first is not None:
                memory.powers[first].add_(region.take(link, memory.joined))
        total = horner_(region.operators, self.sizes.depths, memory.powers.__getitem__)
        for operator, link, first in zip(region.links, terms.links, self.first_powers, strict=True):
            if first is None:
                operator.matrix.product(link, total, add=True)
        return total

    def _loss(self, plan: StepPlan, logits: Tensor) -> Tensor:
        """Return the loss of the training nodes; leave its gradient in the plan."""
        memory = plan.loss
        loss, error = self.loss_with_error(torch.index_select(logits, 0, plan.train, out=memory.logits))
        memory.error.index_copy_(0, plan.train, error)
        return loss

    def _backward(
        self, plan: StepPlan, x: Features, hidden: Sequence[Tensor], terms: PolynomialTerms, drops: bool
    ) -> PolynomialTerms:
        """Set the gradients of the feature layers; return those of the terms."""
        memory, region = plan.loss, plan.training
        powers_(region.backwards, self.sizes.depths, memory.error, memory.columns, memory.turns)
        torch.mm(memory.flat.T, hidden[-1], out=self.g_terms.flatten(0, 1))
        if terms.bias is not None:
            torch.sum(memory.flat, 0, out=self.g_bias.view(-1))
        links = tuple(
            operator.transposed.product(memory.error, target)
            if first is None
            else region.spread(memory.columns[first], target)
            for operator, first, target in zip(region.links, self.first_powers, plan.link_errors, strict=True)
        )
        last = len(self.layers) - 1
        error = _scaled_product(memory.flat, terms.weight.flatten(0, 1), self._scale(last, drops), plan.errors[last])
        for number in reversed(range(len(self.layers))):
            torch.ops.aten.threshold_backward.grad_input(error, hidden[number], 0, grad_input=error)
            before = hidden[number - 1] if number else x
            layer, (g_weight, g_bias) = self.layers[number], self.gradients[number]
            if isinstance(before, SparseOperator):
                layer.weight.grad = before.transposed.product(error, g_weight)
            else:
                layer.weight.grad = torch.mm(before.T, error, out=g_weight)
            if layer.bias is not None:
                layer.bias.grad = torch.sum(error, 0, out=g_bias)
            if number:
                scale = self._scale(number - 1, drops)
                error = _scaled_product(error, layer.weight.T, scale, plan.errors[number - 1])
        return PolynomialTerms(self.g_terms, None if terms.bias is None else self.g_bias, links)


def _scaled_product(first: Tensor, second: Tensor, scale: float, out: Tensor) -> Tensor:
    """`scale * first @ second`, the smaller of the two scaled, and `first` in place."""
    if scale == 1:
        return torch.mm(first, second, out=out)
    if second.numel() < first.numel():
        return torch.mm(first, second * scale, out=out)
    return torch.mm(first.mul_(scale), second, out=out)
