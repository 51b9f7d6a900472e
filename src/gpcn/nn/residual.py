"""The scaled residual GCN that the family simplifies: equation 5 of the paper, with its ReLUs."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from gpcn.nn.argument_checks import check_count, check_finite
from gpcn.nn.base import Features, NodeClassifier
from gpcn.nn.engine.dropout import dropout as drop
from gpcn.nn.engine.operator import SparseOperator
from gpcn.nn.layers import FeatureLayers, Linear


class ResidualGCN(NodeClassifier):
    """`X ← X + γ ReLU(Ā (X W_i + b_i))`, `i = 1..L`, then `X W_out`.

    Args:
        in_channels: number of features, `q`.
        hidden_channels: width, `h`.
        out_channels: number of classes, `C`.
        layers: residual layers, `L`.
        mlp_layers: ReLU layers on the features, `T`; the paper's equation has one.
        gamma: `γ`, the residual scale.
        dropout: share of entries zeroed while training, in the features, between layers and in the residual layers.
        shared: one `W` for all residual layers.
        bias: whether layers have biases.
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
        dropout: float = 0.0,
        shared: bool = False,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.layers, self.gamma = check_count("layers", layers), check_finite("gamma", gamma)
        self.dropout, self.shared = dropout, shared
        self.features = FeatureLayers(in_channels, hidden_channels, mlp_layers, dropout, bias=bias)
        count = 1 if shared else layers
        self.residual = nn.ModuleList(Linear(hidden_channels, hidden_channels, bias) for _ in range(count))
        self.out = Linear(hidden_channels, out_channels, bias)

    def logits(self, x: Features, operator: SparseOperator) -> Tensor:
        """Return logits `[N, C]`."""
        hidden: Tensor = self.features(x)
        for index in range(self.layers):
            layer = self.residual[0 if self.shared else index]
            hidden = hidden + self.gamma * F.relu(operator @ layer(hidden))
            if index < self.layers - 1:
                hidden = drop(hidden, self.dropout, self.training)
        result: Tensor = self.out(hidden)
        return result
