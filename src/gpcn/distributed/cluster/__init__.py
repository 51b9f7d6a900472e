"""Workers on a Ray cluster: started, watched, and started again: `gpcn train --engine ray`."""
