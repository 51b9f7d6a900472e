"""The hyperparameters of the zoo's models: one word for one thing, whichever model has it."""

from __future__ import annotations

from dataclasses import replace

from gpcn.nn.engine import bank as banks
from gpcn.nn.zoo.hyperparameters import Hyperparameter

WIDEST, DEEPEST = 65_536, 1000  # far beyond what anybody has found useful; more would compute for days, or not fit
HIDDEN = Hyperparameter(name="hidden", kind=int, default=64, about="width h", space=(64, 512), low=1, high=WIDEST)
LAYERS = Hyperparameter(
    name="layers",
    kind=int,
    default=2,
    about="L: highest power of the adjacency",
    space=(1, 2, 4, 8),
    low=1,
    high=DEEPEST,
)
MLP_LAYERS = Hyperparameter(
    name="mlp_layers",
    kind=int,
    default=1,
    about="T: ReLU layers on the features",
    space=(1, 2, 3, 4, 5),
    low=1,
    high=DEEPEST,
)
DROPOUT = Hyperparameter(
    name="dropout",
    kind=float,
    default=0.3,
    about="share of entries zeroed while training",
    space=(0.0, 0.3, 0.6, 0.9),
    low=0,
    below=1,
)
GAMMA = Hyperparameter(
    name="gamma",
    kind=float,
    default=0.25,
    about="γ: residual scale",
    space=tuple(2.0**power for power in range(8, -8, -2)),
    low=-1e6,
    high=1e6,
)
BIAS = Hyperparameter(name="bias", kind=bool, default=True, about="whether layers have biases")
NO_BIAS = replace(BIAS, default=False)
DROPOUT_MODE = Hyperparameter(
    name="dropout_mode",
    kind=str,
    default="collapsible",
    about="where dropout acts: features to X_T, or inside the residual layers",
    choices=("collapsible", "residual"),
)
ORDER = Hyperparameter(
    name="order",
    kind=str,
    default="auto",
    about="order of evaluation; the function is the same",
    choices=("auto", "collapsed", "recursive"),
)
COEFFICIENTS = Hyperparameter(
    name="coefficients",
    kind=str,
    default="binomial",
    about="what the recursion expands to, or as printed in the paper",
    choices=("binomial", "printed"),
)
ADAPTIVE = Hyperparameter(
    name="adaptive",
    kind=str,
    default="theta",
    about="free θ_0..θ_L, the same learned as shares of where they start, or one scale per layer",
    choices=("theta", "relative", "scales"),
)
START = replace(GAMMA, default=1.0, about="γ: learning of θ starts at GPCN's coefficients with it", space=(0.25, 1.0))
MU = Hyperparameter(
    name="mu", kind=float, default=0.5, about="μ at the start: share of convolution against links", low=0, high=1
)
MULTI_MU = replace(MU, default=0.8, about="μ: share of convolution; less of it learns links faster", space=(0.5, 0.8))
LEARN_MU = Hyperparameter(name="learn_mu", kind=bool, default=True, about="whether μ is learned")
ALPHA = Hyperparameter(
    name="alpha", kind=float, default=0.1, about="α: pull back to the start", space=(0.1, 0.2, 0.5, 0.9), low=0, below=1
)
THETA = Hyperparameter(
    name="theta", kind=float, default=0.5, about="λ: decay of the weights", space=(0.5, 1.0, 1.5), low=0, high=1e6
)
SELF_LOOPS = Hyperparameter(
    name="self_loops",
    kind=bool,
    default=False,
    about="whether a node counts as its own neighbour",
    space=(False, True),
)
SAME = "same"
OPERATORS = Hyperparameter(
    name="operators",
    kind=str,
    default=banks.PAPER,
    about="what a node reads: operators such as out-row,in-raw^1, or a bank: paper, " + ", ".join(banks.BANKS),
    grammar=banks.parse,
)
LINK_OPERATORS = replace(
    OPERATORS,
    name="link_operators",
    default=SAME,
    about="what the term from links reads; same as operators",
    grammar=lambda text: text == SAME or banks.parse(text),
)

POLYNOMIAL = (HIDDEN, LAYERS, MLP_LAYERS)
COMMON = (DROPOUT, DROPOUT_MODE, NO_BIAS, ORDER)
LINKS = (LINK_OPERATORS, MU, LEARN_MU)
STEPS = replace(LAYERS, default=10, about="K: propagation steps", space=(2, 5, 10))
DEPTH = replace(LAYERS, about="number of layers", space=(1, 2, 3))
BANK = replace(OPERATORS, default="rich", space=("out-row", "directions", "symmetric", "rich"))
BLOCKS = Hyperparameter(
    name="blocks", kind=int, default=4, about="B: polynomial blocks", space=(2, 4, 6), low=1, high=DEEPEST
)
DEEP_LAYERS = Hyperparameter(
    name="layers", kind=int, default=4, about="number of residual layers", space=(2, 4, 8), low=1, high=DEEPEST
)
ROUNDS = replace(
    DEPTH, space=(1, 2), about="K: rounds of aggregation, each of which doubles the width of the last layer", high=10
)
NORM = Hyperparameter(
    name="norm",
    kind=str,
    default="layer",
    about="normalization before every aggregation",
    choices=("layer", "batch", "none"),
    space=("layer", "batch"),
)
DEGREES = Hyperparameter(
    name="degrees", kind=bool, default=True, about="whether the first block reads degrees", space=(False, True)
)
BLOCK_NORM = replace(NORM, default="batch", about="normalization before every block")
TREES = (
    Hyperparameter(
        name="learning_rate",
        kind=float,
        default=0.1,
        about="how much of each tree counts",
        space=(0.03, 0.1),
        low=1e-6,
        high=1e6,
    ),
    Hyperparameter(
        name="max_leaf_nodes",
        kind=int,
        default=31,
        about="leaves of a tree at most",
        space=(15, 31, 63),
        low=2,
        high=WIDEST,
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
        high=1e9,
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
