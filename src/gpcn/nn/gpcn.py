"""The GPCN family: graph polynomial convolution, with learned coefficients and direct learning from links.

Wimalawarne and Suzuki, *Graph Polynomial Convolution Models for Node Classification of Non-Homophilous Graphs*. With
`X_T` the features after `T` ReLU layers (`FeatureLayers`) and `Ā` the normalized adjacency:

| model | logits |
| --- | --- |
| `GPCN` | `X ← X + γ Ā X W`, `L` times, then `X W_out` |
| `GPCNLink` | `(μ X_{T+L} + (1 - μ) Ā W_A) W_out` |
| `AGPCN` | `(θ_0 X_T + Σ_k θ_k Ā^k X_T W^k) W_out` |
| `AGPCNLink` | both |
| `GeneralizedGPCN` | as `GPCN` with its own `W_i` per layer |
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from gpcn.nn.argument_checks import check_choice, check_finite
from gpcn.nn.engine import polynomial
from gpcn.nn.layers import Linear
from gpcn.nn.polynomial_model import PolynomialModel, Steps, behind_one


class GPCN(PolynomialModel):
    """Graph polynomial convolution: `X ← X + γ Ā (X W + b)`, `L` times with one shared `W`.

    Args:
        gamma: `γ`, the residual scale.
        coefficients: `binomial`, what the recursion expands to, `binom(L, k) γ^k`; `printed`, as typeset in the paper,
            `L γ^k` for `1 ≤ k < L`. They differ from `L = 4` on.

    All other options are those of `PolynomialModel`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        gamma: float = 0.25,
        coefficients: Literal["binomial", "printed"] = "binomial",
        **options: object,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, **options)  # type: ignore[arg-type]
        self.gamma = check_finite("gamma", gamma)
        self.kind = check_choice("coefficients", coefficients, "binomial", "printed")
        self._fixed: dict[tuple[float, torch.dtype, torch.device], Tensor] = {}

    def polynomial_coefficients(self) -> Tensor:
        """`binom(L, k) γ^k`, or as printed."""
        weight = self.out.weight
        key = (self.gamma, weight.dtype, weight.device)
        if key not in self._fixed:
            make = polynomial.binomial_coefficients if self.kind == "binomial" else polynomial.printed_coefficients
            self._fixed = {key: behind_one([make(depth, self.gamma) for depth in self.depths]).to(weight)}
        return self._fixed[key]

    def _steps(self, index: int) -> Steps | None:
        return None if self.kind == "printed" else [(self.gamma, self._residual_of(index))] * self.depths[index]


class GPCNLink(GPCN):
    """`GPCN` mixed with direct learning from links: `(μ X_{T+L} + (1 - μ) Ā W_A) W_out`, `W_A` `[N, h]`."""

    links = True


class AGPCN(PolynomialModel):
    """Adaptive GPCN: the weight of every power of the adjacency is learned.

    Args:
        adaptive: `theta` learns `θ_0..θ_L` freely, as the paper defines the model; `relative` learns the same `θ` as
            `θ_k = r_k binom(L, k) γ^k` with `r` starting at 1, so that a step of Adam changes each coefficient by a
            share of itself (with many layers and a small `γ` a plain step is many times the coefficient); `scales`
            learns one `s_i` per residual layer, as the published code does, so that `θ_k = e_k(s)`, a strict subset.
        gamma: where learning starts: at GPCN's coefficients with this `γ`.

    All other options are those of `PolynomialModel`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        gamma: float = 1.0,
        adaptive: Literal["theta", "relative", "scales"] = "theta",
        **options: object,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, **options)  # type: ignore[arg-type]
        self.gamma = check_finite("gamma", gamma)
        self.adaptive = check_choice("adaptive", adaptive, "theta", "relative", "scales")
        self.theta = nn.Parameter(torch.empty(sum(self.depths) + (adaptive != "scales")))
        self._reset_theta()

    def _reset_theta(self) -> None:
        with torch.no_grad():
            if self.adaptive == "theta":
                self.theta.copy_(self._starting_coefficients(self.gamma))
            else:
                self.theta.fill_(1.0 if self.adaptive == "relative" else self.gamma)

    def reset_parameters(self) -> None:
        """Draw all weights anew, and start `θ` over."""
        super().reset_parameters()
        self._reset_theta()

    def polynomial_coefficients(self) -> Tensor:
        """`θ`, or what the learned shares or scales amount to."""
        if self.adaptive == "relative":
            return self.theta * self._starting_coefficients(self.gamma).to(self.theta)
        if self.adaptive == "theta":
            return self.theta
        return behind_one([polynomial.symmetric_coefficients(scales) for scales in self._scales()])

    def _scales(self) -> tuple[Tensor, ...]:
        """`s_1..s_L` of each operator."""
        return torch.split(self.theta, list(self.depths))

    def _steps(self, index: int) -> Steps | None:
        layer = self._residual_of(index)
        return [(scale, layer) for scale in self._scales()[index]] if self.adaptive == "scales" else None


class AGPCNLink(AGPCN):
    """`AGPCN` mixed with direct learning from links."""

    links = True


class GeneralizedGPCN(PolynomialModel):
    """GPCN with a weight of its own per residual layer: `X ← X + γ Ā (X W_i + b_i)` (appendix A).

    Args:
        gamma: `γ`, the residual scale.

    All other options are those of `PolynomialModel`.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, gamma: float = 0.25, **options: object
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, **options)  # type: ignore[arg-type]
        self.gamma = check_finite("gamma", gamma)

    def _residual_layers(self, hidden: int, bias: bool, depth: int) -> nn.Module:
        return nn.ModuleList(Linear(hidden, hidden, bias) for _ in range(depth))

    def polynomial_coefficients(self) -> Tensor:
        """`binom(L, k) γ^k`: the scale of each power where all `W_i` are alike."""
        return self._starting_coefficients(self.gamma).to(self.dtype).to(self.device)

    def _terms(self, index: int) -> tuple[Tensor, Tensor | None]:
        layers: list[Linear] = list(self._residual_of(index))  # type: ignore[call-overload]
        biases = None if layers[0].bias is None else [layer.bias for layer in layers]
        return polynomial.layered_terms(self.gamma, [layer.weight for layer in layers], self.out.weight, biases)  # type: ignore[arg-type]

    def _steps(self, index: int) -> Steps:
        return [(self.gamma, layer) for layer in self._residual_of(index)]  # type: ignore[attr-defined]
