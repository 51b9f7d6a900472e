"""What `auto` tries first, in this order: cheap and different first, then where it often pays.

The portfolio is data, `portfolio.json`, a list of entries with a title, a model, settings, and whether the graph must
have directions. `benchmarks/portfolio.py` makes one from evaluations on many graphs; leaving one graph out gives a
portfolio that has not seen it, and `auto(portfolio=...)` (`gpcn auto --portfolio FILE`) starts with that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from gpcn.core.errors import ConfigError
from gpcn.graph import Graph
from gpcn.nn import zoo
from gpcn.nn.zoo.hyperparameters import Value
from gpcn.training.config import TrainConfig, declared_settings
from gpcn.training.settle import settle

MAJORITY = "majority"
"""The title of who knows the class shares of the training nodes alone: label propagation that spreads nothing."""
EPOCHS, PATIENCE, PATIENCE_OF_TREES = 1000, 80, 40


@dataclass(frozen=True)
class Entry:
    """A model and what differs from its defaults; `directed` entries are for graphs with directions alone."""

    title: str
    model: str
    settings: dict[str, Value] = field(default_factory=dict)
    directed: bool = False

    def fits(self, graph: Graph) -> bool:
        """Whether it makes sense on that graph."""
        model = zoo.specification_of(self.model)
        featured = graph.num_features > 0 or not model.needs_features
        return (graph.directed or not self.directed) and featured and model.learns_task(graph.task_name)

    def config(self, graph: Graph, seed: int) -> TrainConfig:
        """As it is trained on that graph."""
        return portfolio_config(graph, self.model, self.settings, seed)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"title": self.title, "model": self.model, "settings": self.settings, "directed": self.directed}


def portfolio_config(graph: Graph, model: str, settings: dict[str, Value], seed: int) -> TrainConfig:
    """`model` with `settings` on what suits the graph, trained as long as it improves."""
    patience = PATIENCE_OF_TREES if zoo.specification_of(model).fits_itself else PATIENCE
    return settle(TrainConfig.of(model, seed=seed, **{"epochs": EPOCHS, "patience": patience, **settings}), graph)


def default_portfolio() -> tuple[Entry, ...]:
    """The one that comes with the package."""
    return _entries(resources.files("gpcn.search.auto").joinpath("portfolio.json").read_text(), "portfolio.json")


def read_portfolio(path: Path) -> tuple[Entry, ...]:
    """A portfolio from a file."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the portfolio {path}: {error}") from error
    return _entries(text, str(path))


def portfolio_text(entries: Sequence[Entry]) -> str:
    """The text of a file that `read_portfolio` reads, an entry per line."""
    return "[\n" + ",\n".join(json.dumps(entry.to_json()) for entry in entries) + "\n]\n"


def _entries(text: str, where: str) -> tuple[Entry, ...]:
    try:
        rows = json.loads(text)
        entries = tuple(
            Entry(str(row["title"]), str(row["model"]), dict(row["settings"]), bool(row.get("directed", False)))
            for row in rows
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(
            f"the portfolio {where} cannot be read; expected a list of entries with title, model and settings, as "
            "benchmarks/portfolio.py writes it"
        ) from error
    if not entries:
        raise ConfigError(f"the portfolio {where} is empty; expected at least one entry")
    for entry in entries:
        unknown = set(entry.settings) - declared_settings(entry.model).keys()
        if unknown:
            raise ConfigError(f"the portfolio {where} sets {sorted(unknown)[0]!r}, which {entry.model} does not have")
        TrainConfig.of(entry.model, **entry.settings)
    return entries
