"""The hyperparameters of the zoo's models: one word for one thing, whichever model has it."""

from __future__ import annotations

from dataclasses import replace

from gpcn.nn.engine import bank as banks
from gpcn.nn.zoo.hyperparameters import Hyperparameter

WIDEST, DEEPEST = 65_536, 1000  # far beyond what anybody has found useful; more would compute for days, or not fit
HIDDEN = Hyperparameter("hidden", 64, "width h", space=(64, 512), low=1, high=WIDEST)
LAYERS = Hyperparameter("layers", 2, "L: highest power of the adjacency", space=(1, 2, 4, 8), low=1, high=DEEPEST)
MLP_LAYERS = Hyperparameter(
    "mlp_layers", 1, "T: ReLU layers on the features", space=(1, 2, 3, 4, 5), low=1, high=DEEPEST
)
DROPOUT = Hyperparameter(
    "dropout", 0.3, "share of entries zeroed while training", space=(0.0, 0.3, 0.6, 0.9), low=0, below=1
)
GAMMA = Hyperparameter(
    "gamma", 0.25, "γ: residual scale", space=tuple(2.0**power for power in range(8, -8, -2)), low=-1e6, high=1e6
)
BIAS = Hyperparameter("bias", True, "whether layers have biases")
NO_BIAS = replace(BIAS, default=False)
DROPOUT_MODE = Hyperparameter(
    "dropout_mode",
    "collapsible",
    "where dropout acts: features to X_T, or inside the residual layers",
    choices=("collapsible", "residual"),
)
ORDER = Hyperparameter(
    "order", "auto", "order of evaluation; the function is the same", choices=("auto", "collapsed", "recursive")
)
COEFFICIENTS = Hyperparameter(
    "coefficients",
    "binomial",
    "what the recursion expands to, or as printed in the paper",
    choices=("binomial", "printed"),
)
ADAPTIVE = Hyperparameter(
    "adaptive",
    "theta",
    "free θ_0..θ_L, the same learned as shares of where they start, or one scale per layer",
    choices=("theta", "relative", "scales"),
)
START = replace(GAMMA, default=1.0, about="γ: learning of θ starts at GPCN's coefficients with it", space=(0.25, 1.0))
MU = Hyperparameter("mu", 0.5, "μ at the start: share of convolution against links", low=0, high=1)
MULTI_MU = replace(MU, default=0.8, about="μ: share of convolution; less of it learns links faster", space=(0.5, 0.8))
LEARN_MU = Hyperparameter("learn_mu", True, "whether μ is learned")
ALPHA = Hyperparameter("alpha", 0.1, "α: pull back to the start", space=(0.1, 0.2, 0.5, 0.9), low=0, below=1)
THETA = Hyperparameter("theta", 0.5, "λ: decay of the weights", space=(0.5, 1.0, 1.5), low=0, high=1e6)
SELF_LOOPS = Hyperparameter("self_loops", False, "whether a node counts as its own neighbour", space=(False, True))
SAME = "same"
OPERATORS = Hyperparameter(
    "operators",
    banks.PAPER,
    "what a node reads: operators such as out-row,in-raw^1, or a bank: paper, " + ", ".join(banks.BANKS),
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
BLOCKS = Hyperparameter("blocks", 4, "B: polynomial blocks", space=(2, 4, 6), low=1, high=DEEPEST)
DEEP_LAYERS = Hyperparameter("layers", 4, "number of residual layers", space=(2, 4, 8), low=1, high=DEEPEST)
ROUNDS = replace(
    DEPTH, space=(1, 2), about="K: rounds of aggregation, each of which doubles the width of the last layer", high=10
)
NORM = Hyperparameter(
    "norm",
    "layer",
    "normalization before every aggregation",
    choices=("layer", "batch", "none"),
    space=("layer", "batch"),
)
DEGREES = Hyperparameter("degrees", True, "whether the first block reads degrees", space=(False, True))
BLOCK_NORM = replace(NORM, default="batch", about="normalization before every block")
TREES = (
    Hyperparameter("learning_rate", 0.1, "how much of each tree counts", space=(0.03, 0.1), low=1e-6, high=1e6),
    Hyperparameter("max_leaf_nodes", 31, "leaves of a tree at most", space=(15, 31, 63), low=2, high=WIDEST),
    Hyperparameter("l2", 0.0, "L2 penalty on what leaves say", space=(0.0, 1.0, 10.0), low=0),
    Hyperparameter(
        "min_samples_leaf",
        0,
        "training nodes in a leaf at least; 0: a twentieth of them, from 2 to 20",
        low=0,
        high=1e9,
    ),
    Hyperparameter("hops", 2, "how far neighbours are looked at", space=(1, 2), low=0, high=2),
    Hyperparameter("label_features", True, "whether neighbours' training labels are features", space=(False, True)),
)
