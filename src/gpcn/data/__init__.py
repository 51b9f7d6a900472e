"""From files to `Graph`: the catalog of benchmarks, the users' own files, and graphs made on order."""
