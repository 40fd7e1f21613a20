"""Online learning: models that predict each row of a key, and then learn from it."""
