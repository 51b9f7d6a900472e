"""Every model by name: its class, formula, paper and hyperparameters, and all that training, search, export and other
rooms must know of it (`ModelSpecification`).

    model = zoo.build("gpcn-link", in_channels=q, out_channels=C, num_nodes=N, hidden=512, layers=8)
"""

from gpcn.nn.zoo.family import FAMILY
from gpcn.nn.zoo.registry import DEFAULT, USUAL, build, names, specification_of, specifications
from gpcn.nn.zoo.specification import GraphSize, ModelSpecification

__all__ = [
    "DEFAULT",
    "FAMILY",
    "USUAL",
    "GraphSize",
    "ModelSpecification",
    "build",
    "names",
    "specification_of",
    "specifications",
]
