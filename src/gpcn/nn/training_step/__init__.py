"""A training step of the family and of banks of operators, forward and backward written out, without autograd."""
