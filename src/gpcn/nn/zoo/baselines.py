"""The models that the paper compares with, and other references, as the zoo lists them."""

from __future__ import annotations

from dataclasses import replace

from gpcn.nn import baselines
from gpcn.nn.zoo.hyperparameters import Hyperparameter
from gpcn.nn.zoo.model_settings import (
    ALPHA,
    BIAS,
    DEEP_LAYERS,
    DEPTH,
    DROPOUT,
    GAMMA,
    HIDDEN,
    LAYERS,
    MLP_LAYERS,
    NO_BIAS,
    NORM,
    POLYNOMIAL,
    ROUNDS,
    SELF_LOOPS,
    STEPS,
    THETA,
    TREES,
)
from gpcn.nn.zoo.specification import ModelSpecification, Settings

ROUND_COPIES = 4  # of H2GCN's rounds under dropout: one by one, side by side, their mask, and the product of both


def _width_of_rounds(settings: Settings, outputs: int) -> int:
    """Return what H2GCN keeps per node: without dropout its rounds are computed at the width of the logits."""
    hidden, blocks = int(settings["hidden"]), (2 << int(settings["layers"])) - 1
    return ROUND_COPIES * blocks * hidden if settings["dropout"] else hidden + blocks * outputs


BASELINES = (
    ModelSpecification(
        "mlp",
        baselines.MLP,
        "ReLU(X W) ... W_out",
        "Rosenblatt and successors",
        (HIDDEN, MLP_LAYERS, DROPOUT, BIAS),
        reads=("features",),
        exact_on_parts=True,
    ),
    ModelSpecification(
        "gcn",
        baselines.GCN,
        "Ā ReLU(Ā X W_0) W_1",
        "Kipf and Welling, ICLR 2017",
        (HIDDEN, DEPTH, DROPOUT, BIAS),
        states_per_layer=1,
    ),
    ModelSpecification(
        "sgc",
        baselines.SGC,
        "Ā^K X W",
        "Wu et al., ICML 2019",
        (replace(DEPTH, about="K: power of Ā"), DROPOUT, BIAS),
        exact_on_parts=True,
    ),
    ModelSpecification(
        "gprgnn",
        baselines.GPRGNN,
        "Σ_k γ_k Ā^k MLP(X), γ learned",
        "Chien et al., ICLR 2021",
        (
            HIDDEN,
            STEPS,
            MLP_LAYERS,
            ALPHA,
            Hyperparameter(
                "start",
                "ppr",
                "where γ starts: PageRank, powers of α, the last power alone, or at random",
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
        parameter_groups={"gamma": "coefficients"},
    ),
    ModelSpecification(
        "h2gcn",
        baselines.H2GCN,
        "concat of K rounds over exact 1- and 2-hop neighbours, W_out",
        "Zhu et al., NeurIPS 2020",
        (HIDDEN, ROUNDS, DROPOUT, BIAS),
        states_per_layer=1,
        activation_width=_width_of_rounds,
        exportable=False,
    ),
    ModelSpecification(
        "mixhop",
        baselines.MixHop,
        "[X W_0 | Ā X W_1 | Ā² X W_2], layer by layer",
        "Abu-El-Haija et al., ICML 2019",
        (HIDDEN, DEPTH, DROPOUT, BIAS),
        states_per_layer=3,
    ),
    ModelSpecification(
        "link",
        baselines.LINK,
        "A W",
        "Zheleva and Getoor, WWW 2009",
        (SELF_LOOPS, DROPOUT, BIAS),
        reads=("links",),
        per_node=True,
        exact_on_parts=True,
        not_on_parts=("dropout",),
    ),
    ModelSpecification(
        "linkx",
        baselines.LINKX,
        "MLP(σ(W [h_A | h_X] + h_A + h_X))",
        "Lim et al., NeurIPS 2021",
        (
            HIDDEN,
            replace(DEPTH, about="layers of the last MLP"),
            MLP_LAYERS,
            replace(DEPTH, name="edge_layers", default=1, about="layers of the MLP on the links", space=(1, 2)),
            SELF_LOOPS,
            DROPOUT,
            BIAS,
        ),
        per_node=True,
    ),
    ModelSpecification(
        "gcnii",
        baselines.GCNII,
        "ReLU(((1-α) Ā H + α H_0)((1-β) I + β W))",
        "Chen et al., ICML 2020",
        (
            HIDDEN,
            replace(STEPS, default=8, about="number of layers", space=(4, 8, 16, 32)),
            ALPHA,
            THETA,
            DROPOUT,
            BIAS,
        ),
        states_per_layer=1,
    ),
    ModelSpecification(
        "appnp",
        baselines.APPNP,
        "Z ← (1-α) Ā Z + α MLP(X)",
        "Gasteiger et al., ICLR 2019",
        (HIDDEN, STEPS, MLP_LAYERS, ALPHA, DROPOUT, BIAS),
    ),
    ModelSpecification(
        "logistic",
        baselines.LogisticRegression,
        "X W + b",
        "Cox, 1958",
        (DROPOUT, BIAS),
        reads=("features",),
    ),
    ModelSpecification(
        "label-propagation",
        baselines.LabelPropagation,
        "Y ← α Ā Y + (1-α) Y_0",
        "Zhou et al., NeurIPS 2004",
        (
            replace(LAYERS, default=50, about="iterations", space=(10, 50)),
            replace(ALPHA, default=0.9, about="α: weight of the neighbours", space=(0.5, 0.8, 0.9, 0.99)),
        ),
        reads=("links", "labels"),
        tasks=("classification",),
        learns=False,
    ),
    ModelSpecification(
        "adagpr",
        baselines.AdaGPR,
        "ReLU(((1-α) Σ_k g_k Ā^k H + α H_0)((1-β) I + β W)), g learned per layer",
        "Wimalawarne and Suzuki, Layer-wise Adaptive Graph Convolution Networks, 2022",
        (
            HIDDEN,
            replace(STEPS, default=4, about="number of layers", space=(2, 4, 8)),
            Hyperparameter("hops", 4, "highest power per layer", space=(2, 4), low=1, high=100),
            ALPHA,
            THETA,
            DROPOUT,
            BIAS,
        ),
        states_per_layer=1,
    ),
    ModelSpecification(
        "gode",
        baselines.GODE,
        "dX/dt = ReLU(Ā X W), from 0 to γ L",
        "Poli et al., Graph Neural Ordinary Differential Equations, 2019",
        (
            *POLYNOMIAL,
            GAMMA,
            Hyperparameter("solver", "euler", "euler, or a torchdiffeq method such as dopri5"),
            DROPOUT,
            NO_BIAS,
        ),
        states_per_layer=1,
    ),
    ModelSpecification(
        "deep-gcn",
        baselines.DeepGCN,
        "Z ← Z + ReLU(Ā Norm(Z) W_i), i = 1..L; Z W_out",
        "Luo et al., NeurIPS 2024",
        (HIDDEN, DEEP_LAYERS, NORM, DROPOUT, BIAS),
        states_per_layer=1,
    ),
    ModelSpecification(
        "deep-sage",
        baselines.DeepSAGE,
        "Z ← Z + ReLU(Norm(Z) W_i + D^-1 A Norm(Z) W'_i), i = 1..L; Z W_out",
        "Platonov et al., ICLR 2023",
        (HIDDEN, DEEP_LAYERS, NORM, DROPOUT, BIAS),
        states_per_layer=1,
    ),
    ModelSpecification(
        "trees",
        baselines.Trees,
        "boosted trees on features, degrees, neighbours' means of features and of training labels",
        "Friedman, Annals of Statistics 2001",
        (*TREES,),
        reads=("features", "links", "labels"),
        optional=("features",),
        tasks=("classification",),
        exportable=False,
    ),
)
