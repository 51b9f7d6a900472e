"""The record of a graph that runs and graphs in parts keep: what it must look like."""

from __future__ import annotations

from typing import Any

from gpcn.errors import GpcnError
from gpcn.files.schema import (
    Check,
    count,
    fields,
    flag,
    list_of,
    mapping_of,
    name,
    number,
    one_of,
    optional,
    record,
    text,
)
from gpcn.preparation.preparation import Preparation
from gpcn.tasks.metrics import metric_names

_names = optional(list_of(name))
_columns = fields(
    {},
    {
        **dict.fromkeys(("source", "target", "weight", "id", "label", "type"), optional(text)),
        **dict.fromkeys(("features", "splits", "classes"), optional(list_of(text))),
        **dict.fromkeys(("scale", "structure", "unknown"), text),
        "undirected": flag,
        "roles": mapping_of(text),
    },
)
_source = fields(
    {},
    {
        "graph": optional(text),
        "nodes": optional(text),
        "beside": optional(mapping_of(text)),
        "columns": optional(_columns),
    },
)
SOURCE: Check = optional(_source)
"""Where a graph came from."""

_profile = fields(
    {
        "degrees": list_of(count()),
        "classes": list_of(count()),
        "features": optional(fields(dict.fromkeys(("low", "high", "mean"), list_of(number())))),
    }
)
_graph = fields(
    {
        "name": name,
        "metric": one_of(*metric_names()),
        "fingerprint": text,
        "nodes": count(1),
        "features": count(),
        "classes": count(1),
        "label_names": _names,
        "feature_names": _names,
        "positive": optional(one_of(0, 1)),
        "directed": flag,
        "relations": list_of(name),
    },
    {
        "names": text,
        "parts": count(1),
        "order": text,
        "preparation": optional(record),
        "profile": _profile,
        "source": SOURCE,
    },
)


def check_graph_record(payload: Any, where: str) -> None:
    """Refuse what is no record of a graph, or contradicts itself: as many names as classes and features."""
    _graph(payload, where)
    for names, size in (("label_names", "classes"), ("feature_names", "features")):
        if payload[names] is not None and len(payload[names]) != payload[size]:
            raise ValueError(f"{where}.{names} has {len(payload[names])} entries; expected {payload[size]}")
    _check_profile_sizes(payload, where)
    if payload.get("preparation") is not None:
        try:
            Preparation.from_json(payload["preparation"], where)
        except (GpcnError, RecursionError) as error:
            raise ValueError(str(error)) from error


def _check_profile_sizes(payload: dict[str, Any], where: str) -> None:
    profile = payload.get("profile")
    if profile is None:
        return
    columns = [] if profile["features"] is None else list(profile["features"].values())
    if len(profile["classes"]) != payload["classes"] or any(len(column) != payload["features"] for column in columns):
        raise ValueError(
            f"{where}.profile is not about {payload['classes']} classes and {payload['features']} features"
        )
