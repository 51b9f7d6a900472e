"""What trained models say of nodes: probabilities, decisions, out of fold, and how far new data has drifted."""
