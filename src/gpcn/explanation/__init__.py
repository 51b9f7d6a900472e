"""Why a model predicts what it predicts, as accounts (`account`): of one node, of an average of runs, of a class.

`explain` splits one prediction into parts (`one_prediction`, or `gradients` where a model's logits are no sum over
hops), `explain_average` does so for the average of several runs (`average`), `explain_class` for all nodes of a class
(`per_class`), `lead_parts` for all nodes at once (`all_nodes`). `sentences` puts an account into words,
`ego_picture` into a picture.
"""

from __future__ import annotations

from gpcn.explanation.account import ClassExplanation, Explanation
from gpcn.explanation.all_nodes import LeadParts, lead_parts, power_names
from gpcn.explanation.average import explain_average
from gpcn.explanation.explainable import can_be_explained, explained_split, why_unexplainable
from gpcn.explanation.one_prediction import explain
from gpcn.explanation.per_class import explain_class

__all__ = [
    "ClassExplanation",
    "Explanation",
    "LeadParts",
    "can_be_explained",
    "explain",
    "explain_average",
    "explain_class",
    "explained_split",
    "lead_parts",
    "power_names",
    "why_unexplainable",
]
