"""Messy tables as users have them, made on order: fraud, social and pages.

Every preset writes a table of nodes and a table of edges with missing values, dates, texts, tags and columns that say
nothing, and a folder `next` with the tables of the next month: new nodes, new values, a column less, no labels.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpcn.core.errors import ConfigError, near_matches
from gpcn.data.presets import fraud, pages, social
from gpcn.data.presets.tables import Drawn, Month, write_preset_table

LEAST_NODES = 100


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A kind of tables: how they are drawn, the names of the files, and the columns that a user must name."""

    draw: Callable[[int, int], Drawn]
    nodes: int
    node_file: str
    edge_file: str
    source: str
    target: str
    id: str
    label: str

    def compare_command(self, out: Path) -> str:
        """What to type next."""
        tables = [str(out / self.edge_file), "--nodes", str(out / self.node_file)]
        ends = ["--source", self.source, "--target", self.target]
        return shlex.join(["gpcn", "compare", *tables, *ends, "--id", self.id, "--label", self.label])

    def predict_command(self, out: Path, run: str = "RUN") -> str:
        """What to type to score next month's nodes by a run."""
        tables = [str(out / "next" / self.edge_file), "--nodes", str(out / "next" / self.node_file)]
        return shlex.join(["gpcn", "predict", run, *tables, "--out", "predictions.csv"])


PRESETS = {
    "fraud": Preset(
        draw=fraud.draw_fraud, nodes=3000, node_file="accounts.csv", edge_file="transfers.csv",
        source="payer", target="payee", id="account", label="fraud",
    ),
    "social": Preset(
        draw=social.draw_social, nodes=2500, node_file="people.csv", edge_file="friends.csv",
        source="from_person", target="to_person", id="person", label="group",
    ),
    "pages": Preset(
        draw=pages.draw_pages, nodes=2000, node_file="pages.csv", edge_file="links.csv",
        source="page", target="links_to", id="url", label="section",
    ),
}  # fmt: skip


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; {near_matches(name, PRESETS)}")
    return PRESETS[name]


def draw_preset(name: str, *, nodes: int | None = None, seed: int = 0) -> Drawn:
    """The tables of a preset; the same seed gives the same tables."""
    chosen = preset(name)
    size = chosen.nodes if nodes is None else nodes
    if size < LEAST_NODES:
        raise ConfigError(f"nodes is {size}; expected at least {LEAST_NODES} for the preset {name}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected 0 or more")
    return chosen.draw(size, seed)


def write_preset(name: str, out: Path, *, nodes: int | None = None, seed: int = 0) -> Drawn:
    """Write the tables of a preset into the folder `out`, next month's into `out/next`."""
    if out.suffix or out.is_file():
        raise ConfigError(f"cannot write the tables of a preset to {out}; expected the name of a folder")
    drawn = draw_preset(name, nodes=nodes, seed=seed)
    for month, folder in ((drawn.now, out), (drawn.next, out / "next")):
        write_preset_table(month.nodes, folder / PRESETS[name].node_file)
        write_preset_table(month.edges, folder / PRESETS[name].edge_file)
    return drawn


__all__ = ["PRESETS", "Drawn", "Month", "Preset", "draw_preset", "preset", "write_preset"]
