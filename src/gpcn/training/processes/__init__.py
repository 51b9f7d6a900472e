"""Splits over processes: who helps, from when on, and what each is given."""
