"""What the zoo lists: a model's name, class, formula and paper, its hyperparameters and where to search them."""
