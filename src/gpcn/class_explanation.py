"""The former home of `explain_class`, which is in `gpcn.explanation` now; this goes with the next version."""

import warnings

from gpcn.explanation import explain_class

__all__ = ["explain_class"]
warnings.warn(
    "gpcn.class_explanation goes with the next version; import explain_class from gpcn.explanation",
    DeprecationWarning,
    stacklevel=2,
)
