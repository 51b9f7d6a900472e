"""Sums of powers of eigenvalue moduli and singular values: exact for small graphs, Lanczos quadrature for large ones.

`Σ_j |λ_j|^k` is what the paper's bounds grow with. For a symmetric matrix `|λ|` are its singular values. For a directed
graph `Ā` is not symmetric, and the two differ: the steps of the proof that need them bound a trace or a Frobenius norm,
which singular values do and eigenvalue moduli do not (a nilpotent matrix has only zeros for eigenvalues). So singular
values are the default; eigenvalue moduli, as the paper writes, can be had where LAPACK can compute them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from gpcn.core.errors import ConfigError
from gpcn.theory.drawing import figure_at

Of = Literal["singular", "eigen"]
Method = Literal["auto", "exact", "lanczos"]
Array = np.ndarray[Any, np.dtype[np.float64]]
EXACT_UP_TO = 3000  # nodes: some seconds of LAPACK


@dataclass(frozen=True)
class PowerSums:
    """`values[k]` is `Σ_j s_j^k`, `k = 0..K`, within `errors[k]` (three standard errors and the quadrature's)."""

    values: Array
    errors: Array
    of: Of
    method: str

    def __getitem__(self, power: int) -> float:
        return float(self.values[power])


@dataclass(frozen=True)
class Density:
    """Where the spectrum lies: `weights[i]` of all `N` values are at `nodes[i]`."""

    nodes: Array
    weights: Array

    def histogram(self, bins: int = 60) -> tuple[Array, Array]:
        """The share of values in each of `bins` parts of their range: edges, shares."""
        low, high = min(0.0, float(self.nodes.min())), float(self.nodes.max())
        shares, edges = np.histogram(self.nodes, bins, (low, max(high, low + 1e-9)), weights=self.weights)
        return edges, shares / self.weights.sum()

    def describe(self) -> dict[str, list[float]]:
        """The histogram, for JSON."""
        edges, shares = self.histogram()
        return {"edges": edges.tolist(), "shares": shares.tolist()}


def draw(spectrum: Density, name: str, path: Path, *, of: Of = "singular") -> None:
    """The density as a figure; shares on a logarithmic scale, because most of a graph's spectrum is in the middle."""
    edges, shares = spectrum.histogram()
    with figure_at(path, 6.4, 3.4) as figure:
        axes = figure.subplots()
        axes.bar(edges[:-1], shares, width=np.diff(edges), align="edge", color="#0072b2", linewidth=0)
        label = "singular value of Ā" if of == "singular" else "eigenvalue of Ā"
        axes.set(yscale="log", xlabel=label, ylabel="share of all", title=name)


def power_sums(
    matrix: Any,
    powers: int,
    *,
    of: Of = "singular",
    method: Method = "auto",
    probes: int = 16,
    steps: int = 60,
    seed: int = 0,
    precomputed: Density | None = None,
) -> PowerSums:
    """`Σ_j s_j^k` for `k = 0..powers` of a sparse square `matrix`.

    Args:
        matrix: sparse or dense, square.
        powers: the highest `k`.
        of: `singular` values, or `eigen` value moduli (the same where the matrix is symmetric).
        method: `exact` uses LAPACK, time `N³`; `lanczos` time and memory linear in the edges; `auto` by size.
        probes: random vectors for Lanczos; the error falls with their square root.
        steps: of Lanczos; polynomials up to twice this degree are integrated exactly, for the matrix as it is.
        seed: decides the random vectors.
        precomputed: `density` of the same matrix, computed in the same way; an exact one saves computing it again.
    """
    csr = _square(matrix)
    symmetric = is_symmetric(csr)
    if _is_exact(method, csr.shape[0]):
        moduli = np.abs(_values(csr, of, symmetric) if precomputed is None else precomputed.nodes)
        values = np.array([float((moduli**k).sum()) for k in range(powers + 1)])
        return PowerSums(values, np.zeros_like(values), of, "exact")
    if of == "eigen" and not symmetric:
        raise ConfigError(
            f"eigenvalue moduli of a directed graph of {csr.shape[0]:,} nodes cannot be estimated; use singular values "
            "(or method exact where there is time for it)"
        )
    return _lanczos_sums(csr, powers, symmetric, of, probes, steps, seed)


def density(
    matrix: Any, *, of: Of = "singular", method: Method = "auto", probes: int = 16, steps: int = 60, seed: int = 0
) -> Density:
    """The spectrum itself, or the quadrature that stands for it; signed for `eigen` of a symmetric matrix."""
    csr = _square(matrix)
    symmetric = is_symmetric(csr)
    if _is_exact(method, csr.shape[0]):
        values = _values(csr, of, symmetric)
        values = np.abs(values) if of == "singular" or not symmetric else values
        return Density(values.astype(np.float64), np.ones(len(values)))
    if of == "eigen" and not symmetric:
        raise ConfigError("eigenvalue moduli of a large directed graph cannot be estimated; use singular values")
    nodes, weights = _quadrature(csr, symmetric, probes, steps, seed)
    nodes = _moduli(nodes, symmetric) if of == "singular" or not symmetric else nodes
    return Density(nodes.ravel(), (csr.shape[0] * weights / probes).ravel())


def is_symmetric(matrix: sp.csr_array) -> bool:
    """Whether a matrix is its own transpose, to rounding."""
    difference = abs(matrix - matrix.T)
    return not difference.nnz or bool(difference.max() <= 1e-12 * max(1.0, float(abs(matrix).max())))


def _square(matrix: Any) -> sp.csr_array:
    csr = sp.csr_array(matrix, dtype=np.float64)
    if csr.shape[0] != csr.shape[1]:
        raise ConfigError(f"a matrix of shape {csr.shape} has no spectrum; expected a square one")
    return csr


def _is_exact(method: Method, nodes: int) -> bool:
    if method not in ("auto", "exact", "lanczos"):
        raise ConfigError(f"method is {method!r}; expected auto, exact or lanczos")
    return method == "exact" or (method == "auto" and nodes <= EXACT_UP_TO)


def _values(csr: sp.csr_array, of: Of, symmetric: bool) -> Array:
    dense = csr.toarray()
    if symmetric:
        return np.asarray(scipy.linalg.eigvalsh(dense))
    return np.asarray(scipy.linalg.svdvals(dense) if of == "singular" else np.abs(scipy.linalg.eigvals(dense)))


def _lanczos_sums(
    csr: sp.csr_array, powers: int, symmetric: bool, of: Of, probes: int, steps: int, seed: int
) -> PowerSums:
    nodes, weights = _quadrature(csr, symmetric, probes, steps, seed)  # [probes, steps]
    coarse_nodes, coarse_weights = _quadrature(csr, symmetric, probes, max(2, steps // 2), seed)
    size = csr.shape[0]
    values, errors = np.empty(powers + 1), np.empty(powers + 1)
    for k in range(powers + 1):
        per_probe = size * (_moduli(nodes, symmetric) ** k * weights).sum(1)
        coarse = size * (_moduli(coarse_nodes, symmetric) ** k * coarse_weights).sum(1)
        values[k] = per_probe.mean()
        errors[k] = 3 * per_probe.std(ddof=1) / np.sqrt(probes) + abs(per_probe.mean() - coarse.mean())
    values[0], errors[0] = size, 0.0
    if powers >= 2:
        values[2], errors[2] = float((csr.data**2).sum()), 0.0  # the Frobenius norm needs no estimate
    return PowerSums(values, errors, of, f"lanczos, {probes} probes of {steps} steps")


def _moduli(nodes: Array, symmetric: bool) -> Array:
    """What quadrature nodes stand for: eigenvalues, or squares of singular values."""
    return np.abs(nodes) if symmetric else np.sqrt(np.maximum(nodes, 0.0))


def _quadrature(csr: sp.csr_array, symmetric: bool, probes: int, steps: int, seed: int) -> tuple[Array, Array]:
    """Gauss nodes and weights `[probes, steps]` of the spectral measure of `Ā`, or of `ĀᵀĀ`, seen by random signs.

    All probes advance together, so that a step is one sparse product. Lanczos vectors are not kept and not made
    orthogonal again: ghosts of an eigenvalue share its weight, which leaves the quadrature as it is.
    """
    size = csr.shape[0]
    steps = min(steps, size)
    transposed = None if symmetric else sp.csr_array(csr.T)
    rng = np.random.default_rng(seed)
    current = rng.choice([-1.0, 1.0], size=(size, probes)) / np.sqrt(size)
    previous = np.zeros_like(current)
    diagonal, off_diagonal = np.zeros((steps, probes)), np.zeros((steps, probes))
    for step in range(steps):
        image = csr @ current
        if transposed is not None:
            image = transposed @ image
        if step:
            image -= off_diagonal[step - 1] * previous
        diagonal[step] = np.einsum("np,np->p", image, current)
        image -= diagonal[step] * current
        off_diagonal[step] = np.linalg.norm(image, axis=0)
        alive = off_diagonal[step] > 1e-10  # a probe that has seen all of its space stays where it is
        off_diagonal[step] = np.where(alive, off_diagonal[step], 0.0)
        previous, current = current, image / np.where(alive, off_diagonal[step], 1.0) * alive
    nodes, weights = np.empty((probes, steps)), np.empty((probes, steps))
    for probe in range(probes):
        nodes[probe], vectors = scipy.linalg.eigh_tridiagonal(diagonal[:, probe], off_diagonal[:-1, probe])
        weights[probe] = vectors[0] ** 2
    return nodes, weights
