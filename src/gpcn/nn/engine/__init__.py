"""Sparse operators and polynomials of them, differentiable and fast: what every model is computed with."""
