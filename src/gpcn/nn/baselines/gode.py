"""GODE: the shared residual GCN as a differential equation, solved by the method of your choice."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gpcn.core.errors import ConfigError, TrainingError, near_matches
from gpcn.core.extras import require_library
from gpcn.nn.argument_checks import check_channels, check_count, check_positive
from gpcn.nn.base import Features
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.residual import ResidualGCN

FIXED_STEP = ("midpoint", "rk4", "explicit_adams", "implicit_adams")
ADAPTIVE_STEP = ("dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun")
SOLVERS = ("euler", *FIXED_STEP, *ADAPTIVE_STEP)


class GODE(ResidualGCN):
    """A graph neural ordinary differential equation, after Poli et al., *Graph Neural Ordinary Differential Equations*
    (2019, https://arxiv.org/abs/1911.07532).

        dX/dt = ReLU(Ā (X W + b)),    X(0) = X_T,    logits = X(γ L) W_out + b_out

    with `X_T` the features after `T` ReLU layers, `Ā = D̂^-1/2 (A + I) D̂^-1/2` and `D̂` the row sums of `A + I`.

    Euler's method with step `γ` is `ResidualGCN(shared=True)`, equation 5 of the paper with one weight, and weights
    can be copied from one to the other. All other solvers come from `torchdiffeq`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: `L`; the time is `γ L`.
        mlp_layers: ReLU layers on the features, `T`.
        gamma: `γ`, the step of solvers with fixed steps; negative steps go back in time.
        solver: `euler`; with fixed steps of `γ` also `midpoint`, `rk4`, `explicit_adams`, `implicit_adams`; with steps
            by tolerance `dopri5`, `dopri8`, `bosh3`, `fehlberg2`, `adaptive_heun`.
        rtol: relative error per step that solvers by tolerance allow.
        atol: absolute error per step that solvers by tolerance allow.
        dropout: share of entries zeroed while training, in the features and after every ReLU layer; with `euler` also
            between steps, as in `ResidualGCN`. A solver of higher order needs a derivative without noise.
        bias: whether layers have biases.

    Shapes:
        features `[N, q]`, dense or sparse, and links among `N` nodes to logits `[N, C]`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        mlp_layers: int = 1,
        gamma: float = 0.25,
        solver: str = "euler",
        rtol: float = 1e-3,
        atol: float = 1e-4,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        check_channels(in_channels, hidden_channels, out_channels)
        check_count("layers", layers)
        if solver not in SOLVERS:
            raise ConfigError(f"solver {solver!r} is unknown; {near_matches(solver, SOLVERS)}")
        if solver != "euler" and gamma == 0:
            raise ConfigError(f"gamma is 0, so there is no time for solver {solver!r}; expected another number")
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            layers=layers,
            mlp_layers=mlp_layers,
            gamma=gamma,
            dropout=dropout,
            shared=True,
            bias=bias,
        )
        self.solver, self.rtol, self.atol = solver, check_positive("rtol", rtol), check_positive("atol", atol)
        if solver != "euler":
            self._library()  # missing: say so now, not after loading a dataset

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        if self.solver == "euler":
            return super().logits(x, operator)
        layer = self.residual[0]

        def derivative(time: Tensor, state: Tensor) -> Tensor:
            return F.relu(operator @ layer(state))

        hidden = self.features(x)  # [N, h]
        grid = torch.arange(self.layers + 1, dtype=self.dtype, device=self.device) * self.gamma
        try:
            states = self._library().odeint(
                derivative, hidden, grid, method=self.solver, rtol=self.rtol, atol=self.atol
            )  # [L + 1, N, h]
        except AssertionError as error:  # how torchdiffeq says that steps became too small, or times too few
            raise TrainingError(
                f"the solver {self.solver} cannot follow the equation ({error}); lower gamma or lr, or use solver=euler"
            ) from error
        result: Tensor = self.out(states[-1])
        return result

    def _library(self) -> Any:
        return require_library("torchdiffeq", f"solver={self.solver}")
