"""Hyperparameter search: what to try, on what machines, remembered so that nothing is lost or repeated."""

from gpcn.core.extras import require_library


def require_search(purpose: str) -> None:
    """Say which extra is missing, where it is; whoever opens a study asks before importing `ledger` or `study`."""
    require_library("optuna", purpose)
