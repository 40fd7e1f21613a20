"""Lowering of `match`, `match_rules` and `MATCH_RECOGNIZE` to the kernel."""
