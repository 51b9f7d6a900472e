"""Runs on disk: begun, trained split by split, read again, and where their graph is."""
