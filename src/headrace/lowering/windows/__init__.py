"""Lowering of windows to the kernel or to Spark's operators; aggregates in Python."""
