"""Small helpers that know nothing of graphs: text, types, memory, optional libraries."""
