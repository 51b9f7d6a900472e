"""The models of the paper and ours on the same engine, as the zoo lists them."""

from __future__ import annotations

from dataclasses import replace

from gpcn.nn.base import NodeClassifier
from gpcn.nn.gpcn import AGPCN, GPCN, AGPCNLink, GeneralizedGPCN, GPCNLink
from gpcn.nn.multi_gpcn import MultiGPCN, MultiGPCNLink
from gpcn.nn.residual import ResidualGCN
from gpcn.nn.zoo_entries.entry import Entry
from gpcn.nn.zoo_entries.hyperparameters import Hyperparameter
from gpcn.nn.zoo_entries.model_settings import (
    ADAPTIVE,
    BANK,
    BIAS,
    BLOCK_NORM,
    BLOCKS,
    COEFFICIENTS,
    COMMON,
    DEGREES,
    DROPOUT,
    GAMMA,
    HIDDEN,
    LAYERS,
    LINK_OPERATORS,
    LINKS,
    MLP_LAYERS,
    MULTI_MU,
    NO_BIAS,
    OPERATORS,
    ORDER,
    POLYNOMIAL,
    START,
)

WIMALAWARNE = "Wimalawarne and Suzuki, Graph Polynomial Convolution Models for Node Classification, 2022"
FAMILY = ("gpcn", "gpcn-link", "agpcn", "agpcn-link")  # the four models of the paper's tables


def _family(
    name: str, kind: type[NodeClassifier], formula: str, *settings: Hyperparameter, per_node: bool = False
) -> Entry:
    return Entry(
        name=name,
        kind=kind,
        formula=formula,
        paper=WIMALAWARNE,
        hyperparameters=(*POLYNOMIAL, *settings, *COMMON, OPERATORS, *(LINKS if per_node else ())),
        family="gpcn",
        per_node=per_node,
    )


def _multi(name: str, formula: str, *settings: Hyperparameter, per_node: bool = False) -> Entry:
    links = replace(LINK_OPERATORS, default="links", space=("links", "out-raw"))
    return Entry(
        name=name,
        kind=MultiGPCNLink if per_node else MultiGPCN,
        formula=formula,
        paper="this package; " + WIMALAWARNE + ", over a bank of operators",
        hyperparameters=(
            HIDDEN,
            *settings,
            MLP_LAYERS,
            DROPOUT,
            BIAS,
            ORDER,
            *((links, MULTI_MU) if per_node else ()),
        ),
        family="bank",
        per_node=per_node,
    )


FAMILY_ENTRIES = (
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
)
