"""Card fraud as patterns."""
