"""Documented functions and classes under the names they had before: they work for one more version, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def former_names(module: str, current_names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a `module`, in which each former name stands for a current one."""

    def find(name: str) -> Any:
        if name not in current_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        current = current_names[name]
        warnings.warn(
            f"{module}.{name} is now called {current}; the former name goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], current)

    return find
