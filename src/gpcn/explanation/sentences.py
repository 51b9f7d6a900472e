"""An account of a prediction (`one_prediction.explain`) in the few sentences that a person would say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gpcn.explanation.account import (
    BriefExplanation,
    ClassExplanation,
    ClassFeature,
    ClassPart,
    Explanation,
    FeatureShare,
    Neighbour,
    Part,
)

MOST = 2  # names in a sentence
NEGLIGIBLE = 0.05  # of the largest part
PHRASES = {
    "features": "its own features",
    "features of others": "the features of other nodes",
    "links and biases": "links and the general level, without any feature",
    "residual": "what the approximation leaves open",
    "bias": "the general level",
}
DIRECTIONS = {"out": "nodes it points to", "in": "nodes that point to it", "both": "neighbours"}


def part_phrase(part: str) -> str:
    """What a part of the logits is, in words: `hop 2` is `nodes 2 steps away`."""
    if part in PHRASES:
        return PHRASES[part]
    direction = re.search(r"\b(out|in|both)-", part)
    if part.startswith("links"):
        return "who it is linked to" if direction is None else f"which {DIRECTIONS[direction[1]]}"
    relation, hop = re.search(r":(.*) hop \d+$", part), re.search(r"hop (\d+)$", part)
    reached = DIRECTIONS[direction[1]] if direction else "its neighbours"
    if hop is not None and hop[1] != "1":
        reached = f"nodes {hop[1]} steps away" if direction is None else f"{reached}, {hop[1]} steps away"
    how = "how many and which " if "-raw" in part else ""
    return f"{how}{reached}" + (f" by {relation[1]}" if relation else "")


def explanation_sentences(account: Explanation) -> list[str]:
    """At most five: the prediction, what carries it, which nodes, which features, and what speaks against it."""
    lead = account.sum.margin
    result = [
        f"{account.node} is predicted {account.predicted} with {account.probability:.1%} (next: "
        f"{account.runner_up}, {account.runner_up_probability:.1%}), a lead of {lead:+.2f} in the logits."
    ]
    _, reasons, _ = _sides(account.parts)
    if reasons:
        result.append(f"Mostly because of {_listed([_part(part) for part in reasons])}.")
    in_favour = [neighbour for neighbour in account.neighbours if neighbour.margin > 0]
    in_favour.sort(key=lambda neighbour: -neighbour.margin)
    if in_favour:
        result.append(f"Above all {_listed([_neighbour(neighbour) for neighbour in in_favour])}.")
    return result + _features_and_objections(account, _feature)


def class_explanation_sentences(account: ClassExplanation) -> list[str]:
    """The same for an account of a class (`per_class.explain_class`)."""
    right = "" if account.right is None else f", {account.right:.0%} of those with a label rightly"
    which = (
        f"predicted {account.name}{right}"
        if account.chosen_by == "predicted"
        else (f"labelled {account.name} (none is predicted so)")
    )
    result = [
        f"{account.nodes:,} node(s) are {which}; on average the class leads {account.over} by "
        f"{account.lead:+.2f} in the logits."
    ]
    _, reasons, _ = _sides(account.parts)
    if reasons:
        result.append(f"A typical node is one of them because of {_listed([_part(part) for part in reasons])}.")
    return result + _features_and_objections(account, _mean_feature)


def explanation_line(account: BriefExplanation) -> str:
    """A line (of `one_prediction.brief_explanation`): two parts, a node and a feature that speak most for the class."""
    largest, for_it, _ = _sides(account.parts)
    line = _listed([_part(part) for part in for_it]) or "nothing speaks for it"
    extras = (*account.nodes[:1], *account.features[:1])
    named = [f"{name} ({margin:+.2f})" for name, margin in extras if margin > NEGLIGIBLE * largest]
    return "; ".join([line, *named])


def _features_and_objections(account: Explanation | ClassExplanation, described: Callable[[Any], str]) -> list[str]:
    """The last sentences of an account: the features that count most, and the parts that speak against the class."""
    largest, _, against = _sides(account.parts)
    features = [feature for feature in account.features if abs(feature.margin) > NEGLIGIBLE * largest]
    result = []
    if features:
        result.append(f"Of the features {_listed([described(feature) for feature in features])} count most.")
    if against:
        result.append(f"Against it: {_listed([_part(part) for part in against])}.")
    return result


def _sides(parts: Sequence[Part | ClassPart]) -> tuple[float, list[Part | ClassPart], list[Part | ClassPart]]:
    """The size of the largest part; the parts that speak for the class, and against it, the largest first."""
    largest = max(abs(part.margin) for part in parts)
    ordered = sorted(parts, key=lambda part: -part.margin)
    reasons = [part for part in ordered if part.margin > NEGLIGIBLE * largest]
    return largest, reasons, [part for part in reversed(ordered) if part.margin < -NEGLIGIBLE * largest]


def _part(part: Part | ClassPart) -> str:
    return f"{part_phrase(part.part)} ({part.margin:+.2f})"


def _neighbour(neighbour: Neighbour) -> str:
    how = ", by the link itself" if abs(neighbour.links) > abs(neighbour.hops) else ""
    return f"{neighbour.node} ({neighbour.margin:+.2f}{how})"


def _feature(feature: FeatureShare) -> str:
    whose = "" if abs(feature.itself) >= abs(feature.others) else ", of others"
    return f"{feature.feature} ({feature.margin:+.2f}{whose})"


def _mean_feature(feature: ClassFeature) -> str:
    return f"{feature.feature} ({feature.margin:+.2f})"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names[:MOST])
