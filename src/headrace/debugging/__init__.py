"""Explain why a pattern did or did not match a key."""
