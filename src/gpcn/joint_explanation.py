"""The former home of `explain_average`, which is in `gpcn.explanation` now; this goes with the next version."""

import warnings

from gpcn.explanation import explain_average

__all__ = ["explain_average"]
warnings.warn(
    "gpcn.joint_explanation goes with the next version; import explain_average from gpcn.explanation",
    DeprecationWarning,
    stacklevel=2,
)
