"""The paper as data: what its tables print, and settings by model and dataset, as printed or as we found them."""
