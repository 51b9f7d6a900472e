"""Accounts and transfers: fraudsters send more transfers; little else gives them away."""

from __future__ import annotations

import numpy as np

from gpcn.core.types import IntVector
from gpcn.data.presets.tables import (
    Drawn,
    Month,
    Table,
    date_texts,
    draw_choices,
    first_preset_rows,
    select_preset_columns,
    with_missing_cells,
)
from gpcn.data.presets.words import FIRST_NAMES, LAST_NAMES, ODD_NOTES, PLAIN_NOTES

FRAUD, UNLABELLED, NO_AGE, NO_COUNTRY, ISOLATED, REPEATED, NEW = 0.06, 0.10, 0.08, 0.04, 0.02, 0.06, 0.10
TRANSFERS_PER_ACCOUNT = 4
COUNTRIES = {
    "DE": 0.36,
    "FR": 0.2,
    "IT": 0.16,
    "PL": 0.12,
    "PT": 0.08,
    "SE": 0.06,
    "LU": 0.012,
    "MT": 0.005,
    "LI": 0.003,
}
KINDS = ("transfer", "card", "cash")
CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def draw_fraud(nodes: int, seed: int) -> Drawn:
    """`nodes` accounts with four times as many transfers; next month a tenth more, and transfers of that month."""
    rng = np.random.default_rng([seed, 1])
    everybody = nodes + round(NEW * nodes)
    fraud = _exactly(FRAUD, nodes, rng), _exactly(FRAUD, everybody - nodes, rng)
    guilty = np.concatenate(fraud)
    accounts = _accounts(guilty, rng)
    truth = ["yes" if flag else "no" for flag in guilty]
    now = first_preset_rows(accounts, nodes) | {
        "fraud": with_missing_cells(truth[:nodes], round(UNLABELLED * nodes), rng)
    }
    transfers = _transfers(accounts["account"][:nodes], guilty[:nodes], "2024-03-01", KINDS, rng)
    upcoming = _next_accounts(accounts, nodes, rng)
    next_transfers = _transfers(accounts["account"], guilty, "2024-04-01", (*KINDS, "crypto"), rng)
    return Drawn(
        now=Month(nodes=now, edges=transfers),
        next=Month(
            nodes=upcoming, edges=select_preset_columns(next_transfers, ("at", "payee", "payer", "kind", "amount"))
        ),
        truth=dict(zip(accounts["account"], truth, strict=True)),
    )


def _exactly(share: float, size: int, rng: np.random.Generator) -> np.ndarray:
    flags = np.zeros(size, dtype=bool)
    flags[rng.permutation(size)[: round(share * size)]] = True
    return flags


def _accounts(guilty: np.ndarray, rng: np.random.Generator) -> Table:
    size = guilty.size
    first, last = draw_choices(FIRST_NAMES, size, rng), draw_choices(LAST_NAMES, size, rng)
    emails = [f"{a}.{b}{number}@example.org" for number, (a, b) in enumerate(zip(first, last, strict=True))]
    income = np.minimum(12_000 + 18_000 * rng.pareto(1.6, size), 1e6)
    age = np.clip(rng.normal(44 - 2 * guilty, 15, size), 18, 95)
    days = 3_650 * rng.random(size) ** np.where(guilty, 0.75, 1.0)
    odd = rng.random(size) < np.where(guilty, 0.3, 0.12)
    notes = [
        ", ".join(
            dict.fromkeys(
                draw_choices(ODD_NOTES if strange else PLAIN_NOTES, 1, rng) + draw_choices(PLAIN_NOTES, 1, rng)
            )
        )
        for strange in odd
    ]
    codes = [f"R{number:04X}-{''.join(draw_choices(CODE, 5, rng))}" for number in rng.permutation(size)]
    return {
        "account": emails,
        "income": [f"{value:.2f}" for value in income],
        "age": with_missing_cells([str(int(value)) for value in age], round(NO_AGE * size), rng),
        "opened": date_texts(days, "2014-02-01", "D"),
        "country": with_missing_cells(
            draw_choices(list(COUNTRIES), size, rng, list(COUNTRIES.values())), round(NO_COUNTRY * size), rng
        ),
        "note": with_missing_cells(notes, round(0.3 * size), rng),
        "referral_code": codes,
        "version": ["2.1"] * size,
    }


def _transfers(
    names: list[str], guilty: np.ndarray, start: str, kinds: tuple[str, ...], rng: np.random.Generator
) -> Table:
    size, total = guilty.size, TRANSFERS_PER_ACCOUNT * guilty.size
    lively = ~(_exactly(ISOLATED, size, rng) & ~guilty)
    repeats = round(REPEATED * total)
    payer = _payers(guilty, lively, total - repeats, rng)
    popular = lively * rng.gamma(1.5, 1.0, size)
    payee = rng.choice(size, size=payer.size, p=popular / popular.sum())
    payee = np.where(payee == payer, np.flatnonzero(lively)[(payer + 1) % lively.sum()], payee)
    again = rng.integers(payer.size, size=repeats)
    payer, payee = np.concatenate([payer, payer[again]]), np.concatenate([payee, payee[again]])
    order = rng.permutation(total)
    payer, payee = payer[order], payee[order]
    amount = np.exp(rng.normal(4 + 0.35 * guilty[payer], 1.1))
    shares = np.array([[0.5, 0.4, 0.1], [0.5, 0.3, 0.2]])[guilty[payer].astype(np.int64)]
    index: IntVector = (rng.random((total, 1)) > np.cumsum(shares, axis=1)[:, :2]).sum(axis=1)
    index[rng.random(total) < 0.03 * (len(kinds) - 3)] = len(kinds) - 1
    return {
        "payer": [names[node] for node in payer],
        "payee": [names[node] for node in payee],
        "amount": [f"{value:.2f}" for value in amount],
        "kind": [kinds[number] for number in index],
        "at": date_texts(np.sort(30 * rng.random(total)), start, "s"),
    }


def _payers(guilty: np.ndarray, lively: np.ndarray, total: int, rng: np.random.Generator) -> IntVector:
    """The senders of `total` transfers: fraudsters send some six times as many."""
    rate = np.where(guilty, rng.gamma(14, 1 / 14, guilty.size) * 6.5, rng.gamma(5, 1 / 5, guilty.size)) * lively
    return rng.choice(guilty.size, size=total, p=rate / rate.sum())


def _next_accounts(accounts: Table, nodes: int, rng: np.random.Generator) -> Table:
    """Without `age` and the label; a new country, new words, later dates, larger incomes, another version."""
    size = len(accounts["account"])
    new = np.arange(size) >= nodes
    country = [
        "BR" if fresh and rng.random() < 0.2 else value for fresh, value in zip(new, accounts["country"], strict=True)
    ]
    note = [
        "opened in the app" if fresh and rng.random() < 0.3 else value
        for fresh, value in zip(new, accounts["note"], strict=True)
    ]
    income = [
        f"{float(value) * (1.03 if fresh else 1.0):.2f}" for fresh, value in zip(new, accounts["income"], strict=True)
    ]
    income[-1] = "1150000.00"
    opened = accounts["opened"][:nodes] + date_texts(31 * rng.random(size - nodes), "2024-03-01", "D")
    changed = accounts | {
        "opened": opened,
        "country": country,
        "note": note,
        "income": income,
        "version": ["2.2"] * size,
    }
    return select_preset_columns(
        changed, ("opened", "account", "version", "note", "country", "referral_code", "income")
    )
