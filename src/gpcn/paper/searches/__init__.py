"""Searches for recipes on validation nodes alone: what they draw from, how they rank, and the budget of each method."""
