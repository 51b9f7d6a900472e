"""Every model by name, with its formula, its paper and its hyperparameters.

model = zoo.build("gpcn-link", in_channels=q, out_channels=C, num_nodes=N, hidden=512, layers=8)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpcn.errors import ConfigError, near_matches
from gpcn.nn import bank as banks
from gpcn.nn import baselines
from gpcn.nn.base import NodeClassifier
from gpcn.nn.entry import Entry
from gpcn.nn.gpcn import AGPCN, GPCN, AGPCNLink, GeneralizedGPCN, GPCNLink
from gpcn.nn.hyperparameters import Hyperparameter
from gpcn.nn.model_settings import (
    ADAPTIVE,
    ALPHA,
    BANK,
    BIAS,
    BLOCK_NORM,
    BLOCKS,
    COEFFICIENTS,
    COMMON,
    DEEP_LAYERS,
    DEGREES,
    DEPTH,
    DROPOUT,
    GAMMA,
    HIDDEN,
    LAYERS,
    LINK_OPERATORS,
    LINKS,
    MLP_LAYERS,
    MULTI_MU,
    NO_BIAS,
    NORM,
    OPERATORS,
    ORDER,
    POLYNOMIAL,
    ROUNDS,
    SAME,
    SELF_LOOPS,
    START,
    STEPS,
    THETA,
    TREES,
)
from gpcn.nn.multi import MultiGPCN, MultiGPCNLink
from gpcn.nn.residual import ResidualGCN

WIMALAWARNE = "Wimalawarne and Suzuki, Graph Polynomial Convolution Models for Node Classification, 2022"
FAMILY = ("gpcn", "gpcn-link", "agpcn", "agpcn-link")  # the four models of the paper's tables


def names(family: str | None = None) -> list[str]:
    """All model names, or those of one family."""
    return [name for name, entry in _ZOO.items() if family in (None, entry.family)]


def entry(name: str) -> Entry:
    """The model called `name`."""
    if name not in _ZOO:
        raise ConfigError(f"there is no model called {name!r}; {near_matches(name, _ZOO)}")
    return _ZOO[name]


def build(
    name: str,
    *,
    in_channels: int,
    out_channels: int,
    num_nodes: int,
    directed: bool = True,
    relations: Sequence[str] = (),
    **hyperparameters: Any,
) -> NodeClassifier:
    """The model called `name`, for a graph of these sizes, with or without directions and types of links."""
    chosen = entry(name)
    options: dict[str, Any] = chosen.settle(hyperparameters)
    for bank in ("operators", "link_operators"):
        if options.get(bank, SAME) != SAME:
            options[bank] = banks.resolve(banks.parse(options[bank]), directed=directed, relations=relations)
    hidden = options.pop("hidden", 1)
    if chosen.per_node:
        options["num_nodes"] = num_nodes
    return chosen.kind(in_channels, hidden, out_channels, **options)


def _family(name: str, kind: type[NodeClassifier], formula: str, *own: Hyperparameter, per_node: bool = False) -> Entry:
    return Entry(
        name=name,
        kind=kind,
        formula=formula,
        paper=WIMALAWARNE,
        hyperparameters=(*POLYNOMIAL, *own, *COMMON, OPERATORS, *(LINKS if per_node else ())),
        family="gpcn",
        per_node=per_node,
    )


def _multi(name: str, formula: str, *own: Hyperparameter, per_node: bool = False) -> Entry:
    links = replace(LINK_OPERATORS, default="links", space=("links", "out-raw"), neutral=False)
    return Entry(
        name=name,
        kind=MultiGPCNLink if per_node else MultiGPCN,
        formula=formula,
        paper="this package; " + WIMALAWARNE + ", over a bank of operators",
        hyperparameters=(
            HIDDEN,
            *own,
            MLP_LAYERS,
            DROPOUT,
            BIAS,
            ORDER,
            *((links, MULTI_MU) if per_node else ()),
        ),
        family="bank",
        per_node=per_node,
    )


def _baseline(
    name: str,
    kind: type[NodeClassifier],
    formula: str,
    paper: str,
    *own: Hyperparameter,
    per_node: bool = False,
    needs_features: bool = True,
    keeps_labels: bool = False,
) -> Entry:
    return Entry(
        name=name,
        kind=kind,
        formula=formula,
        paper=paper,
        hyperparameters=own,
        per_node=per_node,
        needs_features=needs_features,
        keeps_labels=keeps_labels,
    )


_ENTRIES = (
    _family("gpcn", GPCN, "X ← X + γ Ā X W, L times; X W_out", GAMMA, COEFFICIENTS),
    _family("gpcn-link", GPCNLink, "(μ X_{T+L} + (1-μ) Ā W_A) W_out", GAMMA, COEFFICIENTS, per_node=True),
    _family("agpcn", AGPCN, "(θ_0 X_T + Σ_k θ_k Ā^k X_T W^k) W_out", START, ADAPTIVE),
    _family("agpcn-link", AGPCNLink, "(μ Σ_k θ_k Ā^k X_T W^k + (1-μ) Ā W_A) W_out", START, ADAPTIVE, per_node=True),
    _family("generalized-gpcn", GeneralizedGPCN, "X ← X + γ Ā X W_i, i = 1..L; X W_out", GAMMA),
    _multi("multi-gpcn", "X_T V_0 + Σ_o Σ_k O_o^k X_T V_{o,k}", LAYERS, BANK),
    _multi(
        "multi-gpcn-link",
        "μ (X_T V_0 + Σ_o Σ_k O_o^k X_T V_{o,k}) + (1-μ) Σ_l O_l W_A,l V_l",
        LAYERS,
        BANK,
        per_node=True,
    ),
    _multi(
        "deep-gpcn",
        "Z ← Z + ReLU(Poly(Norm(Z))) W, B - 1 times; Poly(Norm(Z)), Poly(Z) = Σ_o Σ_k O_o^k Z V_{o,k}",
        replace(LAYERS, default=1, space=(1, 2)),
        replace(BANK, default="directions"),
        BLOCKS,
        BLOCK_NORM,
        DEGREES,
    ),
    Entry(
        name="residual-gcn",
        kind=ResidualGCN,
        formula="X ← X + γ ReLU(Ā X W_i), i = 1..L; X W_out",
        paper=WIMALAWARNE + ", equation 5",
        hyperparameters=(
            *POLYNOMIAL,
            GAMMA,
            DROPOUT,
            Hyperparameter(name="shared", kind=bool, default=False, about="one W for all layers"),
            NO_BIAS,
        ),
        family="gpcn",
    ),
    _baseline(
        "mlp", baselines.MLP, "ReLU(X W) ... W_out", "Rosenblatt and successors", HIDDEN, MLP_LAYERS, DROPOUT, BIAS
    ),
    _baseline("gcn", baselines.GCN, "Ā ReLU(Ā X W_0) W_1", "Kipf and Welling, ICLR 2017", HIDDEN, DEPTH, DROPOUT, BIAS),
    _baseline(
        "sgc", baselines.SGC, "Ā^K X W", "Wu et al., ICML 2019", replace(DEPTH, about="K: power of Ā"), DROPOUT, BIAS
    ),
    _baseline(
        "gprgnn",
        baselines.GPRGNN,
        "Σ_k γ_k Ā^k MLP(X), γ learned",
        "Chien et al., ICLR 2021",
        HIDDEN,
        STEPS,
        MLP_LAYERS,
        ALPHA,
        Hyperparameter(
            name="start",
            kind=str,
            default="ppr",
            about="where γ starts: PageRank, powers of α, the last power alone, or at random",
            choices=("ppr", "nppr", "sgc", "random"),
            space=("ppr", "nppr", "random"),
        ),
        DROPOUT,
        replace(
            DROPOUT,
            name="propagation_dropout",
            default=-1.0,
            about="share of predictions zeroed before they spread; -1: as dropout",
            space=(-1.0, 0.0, 0.5),
            low=-1,
        ),
        BIAS,
    ),
    _baseline(
        "h2gcn",
        baselines.H2GCN,
        "concat of K rounds over exact 1- and 2-hop neighbours, W_out",
        "Zhu et al., NeurIPS 2020",
        HIDDEN,
        ROUNDS,
        DROPOUT,
        BIAS,
    ),
    _baseline(
        "mixhop",
        baselines.MixHop,
        "[X W_0 | Ā X W_1 | Ā² X W_2], layer by layer",
        "Abu-El-Haija et al., ICML 2019",
        HIDDEN,
        DEPTH,
        DROPOUT,
        BIAS,
    ),
    _baseline(
        "link",
        baselines.LINK,
        "A W",
        "Zheleva and Getoor, WWW 2009",
        SELF_LOOPS,
        DROPOUT,
        BIAS,
        per_node=True,
        needs_features=False,
    ),
    _baseline(
        "linkx",
        baselines.LINKX,
        "MLP(σ(W [h_A | h_X] + h_A + h_X))",
        "Lim et al., NeurIPS 2021",
        HIDDEN,
        replace(DEPTH, about="layers of the last MLP"),
        MLP_LAYERS,
        replace(DEPTH, name="edge_layers", default=1, about="layers of the MLP on the links", space=(1, 2)),
        SELF_LOOPS,
        DROPOUT,
        BIAS,
        per_node=True,
    ),
    _baseline(
        "gcnii",
        baselines.GCNII,
        "ReLU(((1-α) Ā H + α H_0)((1-β) I + β W))",
        "Chen et al., ICML 2020",
        HIDDEN,
        replace(STEPS, default=8, about="number of layers", space=(4, 8, 16, 32)),
        ALPHA,
        THETA,
        DROPOUT,
        BIAS,
    ),
    _baseline(
        "appnp",
        baselines.APPNP,
        "Z ← (1-α) Ā Z + α MLP(X)",
        "Gasteiger et al., ICLR 2019",
        HIDDEN,
        STEPS,
        MLP_LAYERS,
        ALPHA,
        DROPOUT,
        BIAS,
    ),
    _baseline("logistic", baselines.LogisticRegression, "X W + b", "Cox, 1958", DROPOUT, BIAS),
    _baseline(
        "label-propagation",
        baselines.LabelPropagation,
        "Y ← α Ā Y + (1-α) Y_0",
        "Zhou et al., NeurIPS 2004",
        replace(LAYERS, default=50, about="iterations", space=(10, 50)),
        replace(ALPHA, default=0.9, about="α: weight of the neighbours", space=(0.5, 0.8, 0.9, 0.99)),
        needs_features=False,
        keeps_labels=True,
    ),
    _baseline(
        "adagpr",
        baselines.AdaGPR,
        "ReLU(((1-α) Σ_k g_k Ā^k H + α H_0)((1-β) I + β W)), g learned per layer",
        "Wimalawarne and Suzuki, Layer-wise Adaptive Graph Convolution Networks, 2022",
        HIDDEN,
        replace(STEPS, default=4, about="number of layers", space=(2, 4, 8)),
        Hyperparameter(
            name="hops", kind=int, default=4, about="highest power per layer", space=(2, 4), low=1, high=100
        ),
        ALPHA,
        THETA,
        DROPOUT,
        BIAS,
    ),
    _baseline(
        "gode",
        baselines.GODE,
        "dX/dt = ReLU(Ā X W), from 0 to γ L",
        "Poli et al., Graph Neural Ordinary Differential Equations, 2019",
        *POLYNOMIAL,
        GAMMA,
        Hyperparameter(name="solver", kind=str, default="euler", about="euler, or a torchdiffeq method such as dopri5"),
        DROPOUT,
        NO_BIAS,
    ),
    _baseline(
        "deep-gcn",
        baselines.DeepGCN,
        "Z ← Z + ReLU(Ā Norm(Z) W_i), i = 1..L; Z W_out",
        "Luo et al., NeurIPS 2024",
        HIDDEN,
        DEEP_LAYERS,
        NORM,
        DROPOUT,
        BIAS,
    ),
    _baseline(
        "deep-sage",
        baselines.DeepSAGE,
        "Z ← Z + ReLU(Norm(Z) W_i + D^-1 A Norm(Z) W'_i), i = 1..L; Z W_out",
        "Platonov et al., ICLR 2023",
        HIDDEN,
        DEEP_LAYERS,
        NORM,
        DROPOUT,
        BIAS,
    ),
    _baseline(
        "trees",
        baselines.Trees,
        "boosted trees on features, degrees, neighbours' means of features and of training labels",
        "Friedman, Annals of Statistics 2001",
        *TREES,
        needs_features=False,
        keeps_labels=True,
    ),
)


def _register(entries: tuple[Entry, ...]) -> dict[str, Entry]:
    zoo: dict[str, Entry] = {}
    for each in entries:
        if each.name in zoo:
            raise ValueError(f"two models are called {each.name}")
        zoo[each.name] = each
    return zoo


_ZOO = _register(_ENTRIES)
