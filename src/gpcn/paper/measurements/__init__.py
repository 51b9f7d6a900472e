"""What is measured again, a module per table: which trainings it needs, its rows, and its section of the page."""
