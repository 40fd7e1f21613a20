"""The steps of a plan: one frozen node class for each kind, with everything that is known about the kind."""
