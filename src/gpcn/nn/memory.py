"""Keep what was freed: large tensors are allocated anew at every step, and fresh memory is slow to touch.

glibc hands large blocks back to the system when they are freed; every page of the next one then costs a fault.
Training and benchmarks ask it to keep them instead.
"""

from __future__ import annotations

import ctypes
import functools
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of mallopt
LARGEST = (1 << 31) - 1


@functools.cache
def reuse_freed_memory() -> bool:
    """Ask the C library to keep freed memory for this process; whether it could be asked."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(MMAP_THRESHOLD, 1 << 30)) and bool(mallopt(TRIM_THRESHOLD, LARGEST))
