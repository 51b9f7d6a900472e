"""Hyperparameters of the references that are no graph polynomials: deep residual networks and boosted trees."""

from __future__ import annotations

from gpcn.nn.hyperparameters import Hyperparameter

DEEP_LAYERS = Hyperparameter(
    name="layers", kind=int, default=4, about="number of residual layers", space=(2, 4, 8), low=1
)
NORM = Hyperparameter(
    name="norm",
    kind=str,
    default="layer",
    about="normalization before every aggregation",
    choices=("layer", "batch", "none"),
    space=("layer", "batch"),
)
TREES = (
    Hyperparameter(
        name="learning_rate", kind=float, default=0.1, about="how much of each tree counts", space=(0.03, 0.1), low=1e-6
    ),
    Hyperparameter(
        name="max_leaf_nodes", kind=int, default=31, about="leaves of a tree at most", space=(15, 31, 63), low=2
    ),
    Hyperparameter(
        name="l2", kind=float, default=0.0, about="L2 penalty on what leaves say", space=(0.0, 1.0, 10.0), low=0
    ),
    Hyperparameter(
        name="min_samples_leaf",
        kind=int,
        default=0,
        about="training nodes in a leaf at least; 0: a twentieth of them, from 2 to 20",
        low=0,
    ),
    Hyperparameter(
        name="hops", kind=int, default=2, about="how far neighbours are looked at", space=(1, 2), low=0, high=2
    ),
    Hyperparameter(
        name="label_features",
        kind=bool,
        default=True,
        about="whether neighbours' training labels are features",
        space=(False, True),
    ),
)
