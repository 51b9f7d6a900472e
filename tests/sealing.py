"""Files of runs and studies changed by hand, with a checksum to match."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpcn.records.sealed import SEAL, content_digest


def resealed(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what a file says, as somebody would who computes its checksum again."""
    payload = json.loads(path.read_text())
    payload.pop(SEAL, None)
    change(payload)
    path.write_text(json.dumps({**payload, SEAL: content_digest(payload)}))
