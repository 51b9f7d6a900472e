"""The benchmark datasets: catalog, verified download, readers of their raw formats."""
