"""A graph, or tables that fit no memory, cut into parts on disk: `gpcn shard`."""
