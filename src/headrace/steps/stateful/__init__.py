"""Steps with state, other than patterns."""
