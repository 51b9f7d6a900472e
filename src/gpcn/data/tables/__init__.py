"""The users' own tables: which column is what, and a `Graph` of them."""
