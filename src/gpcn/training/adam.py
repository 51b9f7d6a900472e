"""Adam for full batches: PyTorch's fused kernel, without what its optimizers do around it in every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import Parameter

BETAS = (0.9, 0.999)
EPSILON = 1e-8


@dataclass(frozen=True)
class Group:
    """Weights that are updated alike."""

    parameters: Sequence[Parameter]
    lr: float
    weight_decay: float


class Adam:
    """To the bit what `torch.optim.Adam(fused=True)` does.

    Attributes:
        state: of each weight, under the names that PyTorch's optimizers use; to be changed in place alone.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = list(groups)
        self.state: dict[Parameter, dict[str, Tensor]] = {}
        parameters = [parameter for group in self.groups for parameter in group.parameters]
        device = parameters[0].device if parameters else None
        self.steps = torch.zeros(len(parameters), dtype=torch.float32, device=device)  # counted up by one call
        for parameter, step in zip(parameters, self.steps.unbind(0), strict=True):
            self.state[parameter] = {
                "step": step,
                "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
                "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            }

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.state:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One update of every weight that has a gradient."""
        learned = [parameter.grad is not None for parameter in self.state]
        self.steps.add_(1 if all(learned) else torch.tensor(learned, dtype=torch.float32, device=self.steps.device))
        for group in self.groups:
            pairs = [(parameter, parameter.grad) for parameter in group.parameters if parameter.grad is not None]
            if not pairs:
                continue
            states = [self.state[parameter] for parameter, _ in pairs]
            torch._fused_adam_(
                [parameter for parameter, _ in pairs],
                [gradient for _, gradient in pairs],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                [state["step"] for state in states],
                lr=group.lr,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=group.weight_decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
