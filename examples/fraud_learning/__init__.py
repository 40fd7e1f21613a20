"""Card fraud by a rule, and by a model that learns from reviews."""
