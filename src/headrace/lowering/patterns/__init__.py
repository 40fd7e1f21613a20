"""Patterns: `match`, `match_rules` and `MATCH_RECOGNIZE` on the kernel."""
