"""Hyperparameter search: what to try, on what machines, remembered so that nothing is lost or repeated."""
