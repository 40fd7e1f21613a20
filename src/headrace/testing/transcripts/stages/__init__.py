"""Runs of a case: through Spark in virtual time, or through the in-process driver of the kernel."""
