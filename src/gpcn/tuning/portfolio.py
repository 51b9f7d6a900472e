"""Where `auto` begins: probes of single signals, and settings of the family that differ as much as graphs do."""

from __future__ import annotations

from typing import Any

from gpcn.nn.hyperparameters import Value

_PROBE: dict[str, Any] = {"epochs": 100, "patience": 25, "lr": 0.01}
SIGNALS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("features", "mlp", _PROBE | {"hidden": 64, "weight_decay": 1e-3}),
    ("features", "mlp", _PROBE | {"hidden": 64, "weight_decay": 1e-3, "normalize_features": True}),
    ("links", "link", _PROBE | {"lr": 0.05, "weight_decay": 1e-4}),
    ("links", "link", _PROBE | {"lr": 0.05, "weight_decay": 1e-4, "direction": "both"}),
    ("convolution", "gpcn", _PROBE | {"hidden": 64, "layers": 2}),
    ("convolution", "gpcn", _PROBE | {"hidden": 64, "layers": 2, "normalize_features": True, "direction": "both"}),
)
"""What is probed, by which model, with which settings; the better of several counts."""

_USUAL: dict[str, Value] = {
    "lr": 0.01,
    "weight_decay": 1e-3,
    "dropout": 0.7,
    "hidden": 64,
    "layers": 2,
    "mlp_layers": 1,
    "gamma": 1.0,
    "mu": 0.5,
}


def _with(model: str, **settings: Value) -> tuple[str, dict[str, Value]]:
    return model, _USUAL | settings


PORTFOLIO: tuple[tuple[str, dict[str, Value]], ...] = (
    # neighbours agree: smooth over a few steps
    _with("gpcn"),
    _with("gpcn", lr=0.005, weight_decay=5e-3, layers=4, mlp_layers=2, bias=True, direction="both"),
    _with("agpcn", weight_decay=5e-3, mlp_layers=2, bias=True),
    _with("agpcn-link", lr=0.05, dropout=0.5, layers=4),
    # features tell nearly all
    _with("gpcn", weight_decay=5e-3, dropout=0.5, layers=1, gamma=2.0**-4, bias=True),
    _with("agpcn", weight_decay=5e-4, dropout=0.5, layers=1, mlp_layers=3, gamma=0.25, bias=True),
    # long walks
    _with("gpcn", weight_decay=1e-5, dropout=0.3, hidden=256, layers=8, gamma=0.25, normalize_features=True),
    _with("gpcn-link", lr=0.05, weight_decay=1e-5, layers=8, gamma=2.0**-4, normalize_features=True),
    # who is linked to whom tells nearly all
    _with(
        "gpcn-link", lr=0.05, weight_decay=1e-5, hidden=256, layers=1, gamma=2.0**-4, mu=0.1, normalize_features=True
    ),
    # opposites attract: edges seen both ways, the sign of each step learned
    _with("gpcn-link", hidden=256, layers=1, gamma=0.25, mu=0.99, link_decay=5e-2, direction="both", bias=True),
    _with("gpcn", lr=0.05, hidden=256, layers=1, mlp_layers=2, gamma=0.25, direction="both"),
    _with("agpcn", layers=4, mlp_layers=2, gamma=2.0**-6, adaptive="relative", direction="both"),
)
"""Model and settings; what is not said is the first choice of the space."""
