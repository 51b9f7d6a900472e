"""How good predictions are: metrics, evaluation, and models compared on the same splits."""
