"""Lowering of steps that run user code in Python."""
