"""The page of results, made from the tables on disk and nothing else."""
