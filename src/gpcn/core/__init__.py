"""What every room stands on: errors, files that appear whole, locks, memory, libraries that may be missing."""
