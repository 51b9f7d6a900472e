"""What carries the predictions of all nodes at once: the parts of each node's lead over its runner-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from gpcn.nn import decomposition
from gpcn.nn.engine import bank as banks
from gpcn.runs.predictions.fitted import Fitted
from gpcn.runs.run import Run


@dataclass(frozen=True)
class LeadParts:
    """What carries each node's prediction: `margins` `[parts, N]` sum to winner's logit minus runner-up's."""

    parts: tuple[str, ...]
    margins: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.int64]


def lead_parts(fitted: Fitted, split: int) -> LeadParts:
    """As `explain`, for all nodes at once by the model of `split`, without who is behind each part."""
    model = fitted.model(split)
    inputs = fitted.problem.x, fitted.problem.adjacency
    with torch.no_grad():
        two_likeliest = model(*inputs).topk(2).indices  # [N, 2]
    names, margins = [], []
    for name, part in decomposition.parts(model, *inputs):
        pair = part.gather(1, two_likeliest)
        names.append(name)
        margins.append((pair[:, 0] - pair[:, 1]).numpy())
    return LeadParts(tuple(names), np.stack(margins), two_likeliest[:, 0].numpy())


def power_names(run: Run) -> list[str] | None:
    """The names of the powers of a bank of operators; `None` for the paper's one operator, whose powers are hops."""
    config, structure = run.config, run.structure()
    bank = banks.parse(str(config.hyperparameters.get("operators", banks.PAPER)))
    resolved = banks.resolve(bank, directed=structure.directed, relations=structure.relations)
    return None if resolved == (banks.PAPER_OPERATOR,) else banks.part_names(resolved, int(config["layers"]))
