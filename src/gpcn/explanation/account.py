"""Accounts of why a model predicts what it predicts, as records: of one node, and of a class.

Every number is a share of a logit: `winner` of the predicted class's own, `margin` of its lead over the runner-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Shares:
    """A share of the logit of the predicted class, and of its lead."""

    winner: float
    margin: float


@dataclass(frozen=True)
class Part:
    """The shares of a part of the logits: a hop, links, biases."""

    part: str
    winner: float
    margin: float


@dataclass(frozen=True)
class SourceNode:
    """The shares of a node through one part; `itself` says that it is the node in question."""

    node: str
    label: str | None
    role: str | None
    itself: bool
    winner: float
    margin: float


@dataclass(frozen=True)
class Source:
    """The nodes behind a part: how many, and those that count most."""

    part: str
    nodes: int
    top: tuple[SourceNode, ...]


@dataclass(frozen=True)
class FeatureShare:
    """The share of a feature in the lead: as the node's own, and as a feature of others."""

    feature: str
    margin: float
    itself: float
    others: float


@dataclass(frozen=True)
class Neighbour:
    """The share of another node in the lead over all parts, through hops and by links apart."""

    node: str
    label: str | None
    role: str | None
    margin: float
    hops: float
    links: float


@dataclass(frozen=True)
class Member:
    """A member of an average, how much it counts, and whether its logits are taken apart."""

    run: str
    model: str
    share: float
    decomposed: bool


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The account of one prediction.

    Args:
        run: the folder of the run.
        model: its model, `auto` for an average of several.
        graph: what the graph is called.
        split: whose model it is.
        node: what the node is called.
        label: its class, where that is known.
        role: what it was for in that split.
        predicted: the likeliest class.
        probability: of that class.
        runner_up: the second likeliest.
        runner_up_probability: of that one.
        mu: the share of convolution against links, where the model has one.
        method: `exact` or `integrated gradients`.
        sum: the logit of the predicted class, and its lead.
        parts: what each part of the logits gives.
        sources: the nodes behind each part.
        features: the features that count most.
        origins: what all features, links and biases give together.
        notes: what whoever reads this should know.
        neighbours: the other nodes that count most over all parts.
        sentences: the same as a person would say it.
        members: whose average it is.
    """

    run: str
    model: str
    graph: str
    split: int
    node: str
    label: str | None
    role: str | None
    predicted: str
    probability: float
    runner_up: str
    runner_up_probability: float
    mu: float | None
    method: str
    sum: Shares
    parts: tuple[Part, ...]
    sources: tuple[Source, ...]
    features: tuple[FeatureShare, ...]
    origins: Mapping[str, float]
    notes: tuple[str, ...]
    neighbours: tuple[Neighbour, ...] = ()
    sentences: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data; `members` where there are any."""
        document = asdict(self)
        return document if self.members else {name: value for name, value in document.items() if name != "members"}


@dataclass(frozen=True)
class ClassPart:
    """The share of a part in the mean lead of a class."""

    part: str
    margin: float


@dataclass(frozen=True)
class BriefExplanation:
    """Parts of one lead, and the nodes and features that give most to it, with what they give."""

    parts: tuple[ClassPart, ...]
    nodes: tuple[tuple[str, float], ...]
    features: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ClassFeature:
    """The share of a feature in the mean lead: directly, and through links, where that can be told."""

    feature: str
    margin: float
    directly: float | None
    through_links: float | None


@dataclass(frozen=True)
class TypicalNode:
    """A node whose parts are near to the mean of its class."""

    node: str
    label: str | None
    role: str | None
    probability: float
    lead: float


@dataclass(frozen=True, kw_only=True)
class ClassExplanation:
    """The account of a class: the mean over its nodes.

    Args:
        run: the folder of the run.
        model: its model, `auto` for an average of several.
        graph: what the graph is called.
        split: whose model it is.
        name: the class.
        over: what it leads: the other class, or the mean of all others.
        nodes: how many nodes are averaged over.
        chosen_by: `predicted`, or `labelled` where none is predicted so.
        right: the share of those with a label that have this one.
        method: `exact` or `integrated gradients`.
        lead: the mean lead.
        parts: what each part gives to it.
        features: the features that count most.
        origins: what all features, links and biases give together.
        typical: nodes whose parts are nearest to the mean.
        members: whose average it is.
        notes: what whoever reads this should know.
        sentences: the same as a person would say it.
    """

    run: str
    model: str
    graph: str
    split: int
    name: str
    over: str
    nodes: int
    chosen_by: str
    right: float | None
    method: str
    lead: float
    parts: tuple[ClassPart, ...]
    features: tuple[ClassFeature, ...]
    origins: Mapping[str, float]
    typical: tuple[TypicalNode, ...]
    members: tuple[Member, ...]
    notes: tuple[str, ...]
    sentences: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data, the name as `class`."""
        document = asdict(self)
        return {"class" if name == "name" else name: value for name, value in document.items()}
