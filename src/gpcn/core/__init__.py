"""The ground of every room: errors, files that appear whole, locks, memory, libraries that may be missing."""
