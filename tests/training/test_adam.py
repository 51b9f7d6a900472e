"""Our Adam against PyTorch's: the same to the bit, over groups, and continued from its state."""

from __future__ import annotations

import torch
from torch.nn import Parameter

from gpcn.training.adam import Adam, Group


def weights() -> list[Parameter]:
    torch.manual_seed(0)
    return [Parameter(torch.randn(shape)) for shape in ((5, 3), (37,), (), (64, 65))]


def give(parameters: list[Parameter], step: int) -> None:
    torch.manual_seed(step)
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    if step % 3 == 1:
        parameters[1].grad = None


def test_it_is_pytorchs_to_the_bit() -> None:
    ours, theirs = weights(), weights()
    adam = Adam([Group(ours[:2], 0.01, 1e-3), Group(ours[2:], 0.05, 0.0)])
    groups = [{"params": theirs[:2], "lr": 0.01, "weight_decay": 1e-3}, {"params": theirs[2:], "lr": 0.05}]
    reference = torch.optim.Adam(groups, fused=True)
    for step in range(12):
        give(ours, step)
        give(theirs, step)
        adam.step()
        reference.step()
        assert all(torch.equal(first, second) for first, second in zip(ours, theirs, strict=True))
    for first, second in zip(ours, theirs, strict=True):
        for key, value in reference.state[second].items():
            assert torch.equal(adam.state[first][key], value)
    adam.zero_grad()
    assert all(parameter.grad is None for parameter in ours)
