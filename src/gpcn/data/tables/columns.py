"""Which column of a users' table is what: as given, or by its usual name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.preparation.roles import LITERAL, ROLES, Role
from gpcn.preparation.scalar_encoders import Scale

SOURCES = ("source", "src", "from", "source_id", "u")
TARGETS = ("target", "dst", "to", "target_id", "destination", "v")
IDS = ("id", "node_id", "node", "nodeid", "name")
LABELS = ("label", "class", "y", "category")
WEIGHTS = ("weight",)
TYPES = ("type", "kind", "relation", "edge_type", "relationship", "rel")
SPLIT_NAME = re.compile(r"split([_-]?\d+)?", re.IGNORECASE)
CHOICES = {
    "scale": ("robust", "standard", "none"),
    "structure": ("auto", "none", "degrees", "full"),
    "unknown": ("error", "drop", "add"),
}
UNNAMED = re.compile(r"Unnamed: \d+")
ID_WORDS = frozenset({"id", "uuid", "guid", "key", "no", "nr", "number", "code"})
# fmt: off
ROLE_WORDS = frozenset({
    "from", "to", "source", "src", "target", "dst", "destination", "sender", "receiver", "recipient", "payer",
    "payee", "caller", "callee", "counterparty", "other", "second", "related", "linked", "next", "previous",
    "parent", "child", "friend", "follower", "followee", "followed", "following", "manager", "boss", "partner",
    "peer", "neighbor", "neighbour", "contact", "spouse", "mother", "father", "mentor", "supervisor", "citing",
    "cited", "referrer", "referred",
})
# fmt: on
"""What an end of an edge is called among nodes of one kind."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column is what; `None` means: find it by its usual names.

    `undirected` mirrors every edge. `classes` gives the class names in the order of their numbers, where sorting
    them is not what is wanted. `type` is the column of edges that names their relation. `roles` says what columns of
    nodes hold (`number`, `category`, `date`, `tags`, `text`, `boolean`, `drop`) where the guess is wrong, `scale` how
    numbers are scaled (`robust`, `standard`, `none`), `structure` what the links themselves add to the features
    (`none`, `degrees`, `full`; `auto`: degrees, and everything where there are no other features), `unknown` what
    happens to edges whose ends are not among the nodes (`error`, `drop`, `add`).
    """

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None
    features: tuple[str, ...] | None = None
    splits: tuple[str, ...] | None = None
    undirected: bool = False
    classes: tuple[str, ...] | None = None
    type: str | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    scale: Scale = "robust"
    structure: str = "auto"
    unknown: str = "error"

    def __post_init__(self) -> None:
        for option, choices in CHOICES.items():
            if getattr(self, option) not in choices:
                raise ConfigError(f"{Option(option)} is {getattr(self, option)!r}; expected {' or '.join(choices)}")
        for name, role in self.roles.items():
            if role not in ROLES:
                raise ConfigError(f"column {name!r} is to be {role!r}; expected one of {', '.join(ROLES)}")

    def in_edges(self, names: Sequence[str], where: str, *, lenient: bool = False) -> Columns:
        """The same with `source`, `target`, `weight` and `type` settled for a table with these columns.

        A table to be scored may be `lenient`: it may lack the types of edges, and a weight or a type that training did
        not have is a column like any other.
        """
        source = _find(names, self.source, SOURCES, where, Option("source"), before=lenient)
        target = _find(names, self.target, TARGETS, where, Option("target"), before=lenient)
        if source is None and target is None and len(names) >= 2:
            source, target = names[0], names[1]
            if is_numeric_text(source) or is_numeric_text(target):
                raise DataError(
                    f"{where} has no header: its first line is {source!r}, {target!r}; add a line of column names, or "
                    "call the file .edges"
                )
        if source is not None and source == target:
            raise DataError(f"{where}: column {source!r} cannot hold both ends of an edge")
        if source is None or target is None:
            raise DataError(
                f"{where}: cannot tell which columns hold the ends of an edge among {_listed(names)}; "
                f"name them with {Option('source')} and {Option('target')}"
            )
        weight = _find(names, self.weight, () if lenient else WEIGHTS, where, Option("weight"), before=lenient)
        remaining = [name for name in names if name not in (source, target, weight)]
        kind = (
            None
            if lenient and self.type not in remaining
            else _find(remaining, self.type, TYPES, where, Option("type"))
        )
        return replace(self, source=source, target=target, weight=weight, type=kind)

    @property
    def literal_columns(self) -> list[str]:
        """The columns of nodes that were said to hold what is taken to the letter."""
        return [name for name, role in self.roles.items() if role in LITERAL]

    def names_ends(self, names: Sequence[str]) -> bool:
        """Whether the ends of edges are named, here or by a usual name of a column, and need not be guessed."""
        lowered = {name.lower() for name in names}
        return any((self.source, self.target, lowered & {*SOURCES, *TARGETS}))

    def end_of_another_kind(self) -> str | None:
        """Return the end of edges whose name tells of another kind of node than the ids; `None` where no name does.

        With ids called `user_id`, edges from `user_id` to `merchant_id` lead elsewhere: one end has the ids' noun, the
        other is an id with a noun of its own. `friend_id` and the like are what the other end of one kind is called.
        """
        kind, ends = _words(str(self.id)) - ID_WORDS, (str(self.source), str(self.target))
        for near, far in (ends, ends[::-1]):
            noun = _words(far) - ID_WORDS
            of_another = noun and _words(far) & ID_WORDS and not noun & (kind | ROLE_WORDS)
            if kind & _words(near) and of_another:
                return far
        return None

    def as_read_before(self, reading: Mapping[str, Any]) -> Columns:
        """What an earlier table was read with, where nothing else is said now."""
        try:
            names = {column.name for column in fields(self)}
            earlier = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in reading.items()
                if name in names
            }
            usual = Columns()
            given = {name: value for name, value in vars(self).items() if value != getattr(usual, name)}
            return Columns(**{**earlier, **given})
        except TypeError as error:
            raise DataError(f"how the columns were read before cannot be understood: {error}") from error

    def in_nodes(self, names: Sequence[str], where: str, *, lenient: bool = False) -> Columns:
        """The same with `id`, `label`, `splits` and `features` settled for a table with these columns.

        A table to be scored may be `lenient`: columns of features and labels that it lacks are passed over.
        """
        if lenient:
            kept = None if self.features is None else tuple(name for name in self.features if name in names)
            roles = {name: role for name, role in self.roles.items() if name in names}
            label = self.label if self.label in names else None
            new = tuple(name for name in names if name not in (self.features or ()) and name not in (self.id, label))
            splits = None if self.splits is None else tuple(name for name in self.splits if name in names)
            identity = _find(names, self.id, IDS, where, Option("id"), before=True)
            known = replace(self, id=identity, features=kept, roles=roles, label=label, splits=splits)
            settled = known.in_nodes(names, where)
            added = tuple(name for name in new if name not in (settled.splits or ()))
            return replace(settled, label=label, features=(*(kept or ()), *added))
        identity = _find(names, self.id, IDS, where, Option("id")) or names[0]
        if self.label == identity:
            raise DataError(
                f"{where}: column {identity!r} holds the ids, so it cannot hold the labels; see {Option('id')}"
            )
        label = _find([name for name in names if name != identity], self.label, LABELS, where, Option("label"))
        splits = self.splits or tuple(name for name in names if SPLIT_NAME.fullmatch(name))
        features = self.features
        if features is None:
            taken = {identity, label, *splits}
            splits_or_nameless = (SPLIT_NAME.fullmatch, UNNAMED.fullmatch)
            features = tuple(
                name for name in names if name not in taken and not any(fits(name) for fits in splits_or_nameless)
            )
        if len(set(features)) < len(features):
            raise DataError(f"{where}: {Option('features')} names a column twice; expected each once")
        present = set(names)
        for name in (*splits, *features, *self.roles):
            if name not in present:
                raise DataError(f"{where} has no column {name!r}; it has {_listed(names)}")
        return replace(self, id=identity, label=label, splits=splits, features=features)


def _words(name: str) -> set[str]:
    """The words of a name such as `user_id` or `userId`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return set(re.findall(r"[^\W_]+", apart.lower()))


def _find(
    names: Sequence[str], given: str | None, usual: Sequence[str], where: str, option: Option, *, before: bool = False
) -> str | None:
    """The column `given`, or one with a `usual` name; `before`: it was given when an earlier table was read."""
    if given is not None:
        if given not in names:
            advice = "; expected it as in training, so add it or rename the one that holds it" if before else ""
            raise DataError(f"{where} has no column {given!r} ({option}); it has {_listed(names)}{advice}")
        return given
    lowered = {name.lower(): name for name in reversed(names)}
    return next((name if name in names else lowered[name] for name in usual if name in lowered), None)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def is_numeric_text(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
