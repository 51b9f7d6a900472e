"""The two theorems of the paper, term by term, and the bound that their proof supports.

Everything is stated for one output and bounds the symmetric transductive Rademacher complexity divided by `Q`. With
`p = MU/(M+U)²`, `c_k` the coefficient of `Ā^k` (`binom(L,k) γ^k`, as printed, or `|θ_k|`), `B_l` the largest column L1
norm of the weight `W_l`, `S_k = Σ_j |λ_j|^k` and `D = √N R`:

    printed    C' B_out μ [2^T ΠB √(2p) (c_0 + Σ_k c_k B_T^k S_k) ‖X‖_F + (Σ_k c_k B_T^k S_k) D]
               + (1-μ) 2^(5/2) B_out B_A √(MU)/(M+U) S_1

    corrected  B_out {μ [c_0 min(2^T ΠB √(2p) ‖X‖_F, √(2pN) D*) + Σ_k c_k B_T^k √(2p) ‖Ā^k‖_F D*]
               + (1-μ) B_A √(2p) ‖Ā‖_F},   D* = ΠB max_c ‖X_c‖₂

`docs/theory.md` derives the second one; it has no unknown constant and holds for directed graphs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gpcn.core.errors import ConfigError

Version = Literal["printed", "corrected"]
C_0 = math.sqrt(32 * math.log(4 * math.e) / 3)  # El-Yaniv and Pechyony, 2009: below 5.05


@dataclass(frozen=True, kw_only=True)
class Quantities:
    """All that the theorems speak of.

    Args:
        feature_norms: `B_0..B_{T-1}`, largest column L1 norms of the ReLU layers.
        residual_norm: `B_T`, of the shared weight of the residual layers.
        output_norm: `B_{T+1}`.
        link_norm: `B_A`; 0 without a term from links.
        coefficients: `c_0..c_L`; their moduli count.
        mu: `μ`; 1 without a term from links.
        power_sums: `S_0..S_L`, of `|λ|` or singular values.
        frobenius: `‖Ā^k‖_F` for `k = 0..L`.
        features_frobenius: `‖X‖_F`.
        features_column: `max_c ‖X_c‖₂`.
        nodes: `N`.
        train: `M`.
        test: `U`.
        bound_on_outputs: `R`, at which the printed theorems clip what a ReLU gives; the largest modulus in `X_T`.
        constant: `C'` of the printed theorems. The paper calls it universal and gives no value.
    """

    feature_norms: Sequence[float]
    residual_norm: float
    output_norm: float
    link_norm: float
    coefficients: Sequence[float]
    mu: float
    power_sums: Sequence[float]
    frobenius: Sequence[float]
    features_frobenius: float
    features_column: float
    nodes: int
    train: int
    test: int
    bound_on_outputs: float
    constant: float = 1.0

    def __post_init__(self) -> None:
        layers = len(self.coefficients) - 1
        if layers < 1 or len(self.power_sums) <= layers or len(self.frobenius) <= layers:
            raise ConfigError(f"{layers} layers need power sums and norms up to Ā^{layers}; some are missing")
        if not 0 <= self.mu <= 1:
            raise ConfigError(f"mu is {self.mu}; expected a share from 0 to 1")
        if self.train < 1 or self.test < 1:
            raise ConfigError(f"there are {self.train} training and {self.test} test nodes; expected some of each")
        sizes = (*self.feature_norms, self.residual_norm, self.output_norm, self.link_norm, self.bound_on_outputs)
        if not all(math.isfinite(size) and size >= 0 for size in sizes):
            raise ConfigError("a norm is negative or not finite; the model cannot have been trained")

    @property
    def p(self) -> float:
        """`MU/(M+U)²`."""
        return self.train * self.test / (self.train + self.test) ** 2

    @property
    def q(self) -> float:
        """`Q = 1/M + 1/U`."""
        return 1 / self.train + 1 / self.test

    @property
    def product(self) -> float:
        """`Π_l B_l` over the ReLU layers."""
        return math.prod(self.feature_norms)


@dataclass(frozen=True)
class Bound:
    """The terms by name, their sum, and which is largest."""

    version: Version
    terms: dict[str, float]

    @property
    def total(self) -> float:
        """The bound on the complexity divided by `Q`."""
        return sum(self.terms.values())

    @property
    def dominant(self) -> str:
        """The largest term."""
        return max(self.terms, key=lambda name: self.terms[name])

    def describe(self) -> dict[str, Any]:
        """For JSON."""
        return {"version": self.version, "total": self.total, "dominant": self.dominant, "terms": self.terms}


def printed(given: Quantities) -> Bound:
    """Theorem 1 (or 2, with `θ` for coefficients) as printed, reading its `I` as 1.

    Theorem 2 prints the product of the `B_l` twice and leaves `Q` out on its left side; both are taken for misprints.
    """
    root = math.sqrt(2 * given.p)
    front = given.constant * given.output_norm * given.mu
    features = 2 ** len(given.feature_norms) * given.product * root * given.features_frobenius
    terms = {"features": front * abs(given.coefficients[0]) * features}
    for k in range(1, len(given.coefficients)):
        weight = front * abs(given.coefficients[k]) * given.residual_norm**k * given.power_sums[k]
        terms[f"hop_{k}"] = weight * features
        terms[f"hop_{k}_bounded_outputs"] = weight * math.sqrt(given.nodes) * given.bound_on_outputs
    share = math.sqrt(given.train * given.test) / (given.train + given.test)
    links = (1 - given.mu) * given.output_norm * given.link_norm
    terms["links"] = links * 2**2.5 * share * given.power_sums[1]
    return Bound("printed", terms)


def corrected(given: Quantities) -> Bound:
    """What the proof supports, without its unknown constant."""
    root = math.sqrt(2 * given.p)
    size = given.product * given.features_column  # no column of X_T can be longer
    layered = 2 ** len(given.feature_norms) * given.product * root * given.features_frobenius
    direct = root * math.sqrt(given.nodes) * size
    front = given.output_norm * given.mu
    terms = {"features": front * abs(given.coefficients[0]) * min(layered, direct)}
    for k in range(1, len(given.coefficients)):
        weight = front * abs(given.coefficients[k]) * given.residual_norm**k
        terms[f"hop_{k}"] = weight * root * given.frobenius[k] * size
    terms["links"] = (1 - given.mu) * given.output_norm * given.link_norm * root * given.frobenius[1]
    return Bound("corrected", terms)


@dataclass(frozen=True)
class Transductive:
    """`test error ≤ train error + complexity + slack_of_sampling + confidence`, for a loss of Lipschitz constant 1."""

    complexity: float
    slack_of_sampling: float
    confidence: float
    delta: float

    @property
    def gap(self) -> float:
        """What the test error may exceed the training error by, with probability `1 - delta`."""
        return self.complexity + self.slack_of_sampling + self.confidence

    def describe(self) -> dict[str, float]:
        """For JSON."""
        return {**asdict(self), "gap": self.gap}


def transductive(bound: Bound, given: Quantities, *, delta: float = 0.05, c_0: float = C_0) -> Transductive:
    """The full bound: `Q` times the complexity, `c_0 Q √min(M,U)` and `√(S Q/2 log 1/δ)`.

    The printed one has `S` with `min(M,U)` and half its value; the corrected one that of El-Yaniv and Pechyony.
    """
    if not 0 < delta < 1:
        raise ConfigError(f"delta is {delta}; expected a probability between 0 and 1")
    m, u = given.train, given.test
    if bound.version == "printed":
        low = min(m, u)
        s = 2 * (m + u) * low / ((2 * (m + u) - 1) * (2 * low - 1))
    else:
        s = (m + u) / ((m + u - 0.5) * (1 - 1 / (2 * max(m, u))))
    slack = c_0 * given.q * math.sqrt(min(m, u))
    return Transductive(given.q * bound.total, slack, math.sqrt(s * given.q / 2 * math.log(1 / delta)), delta)
