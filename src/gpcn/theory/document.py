"""What `gpcn bound --out` and `gpcn spectrum --out` write; reading it back is checked, for anybody may have made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpcn.core.atomic import replacing
from gpcn.core.errors import ConfigError, DataError, Option
from gpcn.records.reading import Count, Number, decode, parse

BOUND, SPECTRUM = "gpcn bound", "gpcn spectrum"


class Density(Struct, frozen=True):
    """Shares of the spectrum between edges."""

    edges: tuple[Number, ...]
    shares: tuple[Number, ...]


class Spectrum(Struct, frozen=True):
    """Power sums of singular values or eigenvalues, how they were found, and their density."""

    of: str
    method: str
    power_sums: tuple[Number, ...]
    errors: tuple[Number, ...]
    density: Density

    def __post_init__(self) -> None:
        if len(self.density.edges) != len(self.density.shares) + 1 or len(self.power_sums) != len(self.errors):
            raise ValueError("its lists have different lengths")


class SpectrumOfGraph(Spectrum, frozen=True):
    """The document of `gpcn spectrum`."""

    graph: str


class TransductiveGap(Struct, frozen=True):
    """By how much the test error may exceed the training error."""

    gap: Number


class StoredBound(Struct, frozen=True):
    """A bound: its terms, their sum over `Q`, and by how much the test error may exceed the training error."""

    terms: dict[str, Number]
    total: Number
    dominant: str
    transductive: TransductiveGap

    @property
    def gap(self) -> float:
        """By how much the test error may exceed the training error."""
        return self.transductive.gap


class BothBounds(Struct, frozen=True):
    """The bound as the paper prints it, and as its proof supports it."""

    printed: StoredBound
    corrected: StoredBound


class Reached(Struct, frozen=True):
    """Complexity that random signs reach, and its error."""

    mean: Number
    error: Number


class BoundOfModel(Struct, frozen=True):
    """The document of `gpcn bound`."""

    graph: str
    model: str
    split: Count
    train_score: Number | None
    test_score: Number | None
    spectrum: Spectrum
    monte_carlo: Reached | None
    bounds: BothBounds


@dataclass(frozen=True)
class TheoryDocument:
    """The spectrum of a graph and, where there is a model, its bounds by version and what was measured."""

    graph: str
    spectrum: Spectrum
    model: str | None = None
    split: int | None = None
    train: float | None = None
    test: float | None = None
    reached: tuple[float, float] | None = None
    bounds: dict[str, StoredBound] | None = None

    @property
    def title(self) -> str:
        """The graph that it is about, and where there is one the model."""
        return self.graph if self.model is None else f"{self.model} on {self.graph}"

    @classmethod
    def read(cls, path: Path) -> TheoryDocument:
        """The document at `path`."""
        try:
            document = parse(path.read_bytes())
            kind = document.get("kind") if isinstance(document, dict) else None
            if kind == BOUND:
                return _from_bound(decode(document, BoundOfModel))
            if kind == SPECTRUM:
                spectrum = decode(document, SpectrumOfGraph)
                return cls(graph=spectrum.graph, spectrum=spectrum)
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, OverflowError, RecursionError) as error:
            raise DataError(
                f"{path} is damaged ({error}); make it again with gpcn bound or spectrum {Option('out')}"
            ) from error
        raise DataError(f"{path} is not a document of gpcn bound {Option('out')} or gpcn spectrum {Option('out')}")


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """Keep `document` at `path`."""
    check_document_name(path)
    with replacing(path) as stream:
        stream.write((json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def check_document_name(path: Path) -> None:
    """Refuse a name that `gpcn report` would not recognize, before there is anything to write."""
    if path.suffix.lower() != ".json":
        raise ConfigError(f"{Option('out')} is {path}; expected a name that ends in .json")


def _from_bound(document: BoundOfModel) -> TheoryDocument:
    reached = document.monte_carlo
    return TheoryDocument(
        graph=document.graph,
        spectrum=document.spectrum,
        model=document.model,
        split=document.split,
        train=document.train_score,
        test=document.test_score,
        reached=None if reached is None else (reached.mean, reached.error),
        bounds={"printed": document.bounds.printed, "corrected": document.bounds.corrected},
    )
