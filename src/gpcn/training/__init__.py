"""From a graph and a configuration to honest numbers: protocol, runs on disk, prediction, comparison."""
