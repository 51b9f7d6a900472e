"""Files of runs and studies changed by hand: with a checksum to match, or as an earlier version wrote them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpcn.files.sealed import SEAL, content_digest
from gpcn.training.runs.run import Run


def resealed(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what a file says, as somebody would who computes its checksum again."""
    payload = json.loads(path.read_text())
    payload.pop(SEAL, None)
    change(payload)
    path.write_text(json.dumps({**payload, SEAL: content_digest(payload)}))


def as_version_1(run: Path) -> None:
    """Make a run what the first version would have written: no checksums, keys without names."""
    config = json.loads((run / "config.json").read_text())
    for name in (SEAL, "files"):
        config.pop(name)
    config["graph"].pop("names")
    (run / "config.json").write_text(json.dumps(config | {"format": 1}))
    opened = Run.open(run)
    for number in opened.finished():
        folder = opened.folder(number)
        result = json.loads((folder / "result.json").read_text())["result"]
        (folder / "result.json").write_text(json.dumps({"owner": opened.key(number), "result": result}))
        model = json.loads((folder / "model.json").read_text())
        model.pop(SEAL)
        (folder / "model.json").write_text(json.dumps(model | {"format": 1, "owner": opened.key(number)}))
