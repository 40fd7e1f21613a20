"""The steps of a plan: one frozen node class per kind, with its columns, checks, tier, state and model."""
