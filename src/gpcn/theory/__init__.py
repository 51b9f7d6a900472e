"""The paper's generalization analysis, computed: spectra, both theorems, and the bound beside the measured gap."""
