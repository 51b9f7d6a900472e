"""The paper as data, and its tables and ablations measured again."""
