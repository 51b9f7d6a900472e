"""What a split's `result.json` must look like."""

from __future__ import annotations

from typing import Any

from gpcn.files.schema import count, fields, list_of, mapping_of, number, optional, record, text
from gpcn.tasks.metrics import metric_names
from gpcn.utils.types import ROLES

_share = optional(number())
_digests = mapping_of(text)


def check_result_record(payload: Any, where: str) -> None:
    """A split's `result.json`: whose it is, its scores, and the checksums of the files beside it."""
    fields({"owner": text, "result": fields({"metrics": fields(dict.fromkeys(ROLES, record))})})(payload, where)
    support = payload["result"]["metrics"]["test"].get("support")
    classes = len(support) if isinstance(support, list) else 0
    scores = dict.fromkeys(("test", "val", "train"), _share)
    by_class = list_of(count(), classes)
    part = fields(
        {
            "score": _share,
            "support": by_class,
            "confusion": list_of(by_class, classes),
            "precision": list_of(_share, classes),
            "recall": list_of(_share, classes),
        },
        dict.fromkeys((*metric_names(), "macro_f1", "calibration_error"), _share),
    )
    result = fields(
        {
            **scores,
            **dict.fromkeys(("split", "seed", "epochs", "best_epoch", "parameters"), count()),
            "seconds": number(0),
            "coefficients": optional(list_of(_share)),
            "mix": _share,
            "metrics": fields(dict.fromkeys(ROLES, part)),
        }
    )
    fields({"owner": text, "result": result, "files": _digests})(payload, where)
