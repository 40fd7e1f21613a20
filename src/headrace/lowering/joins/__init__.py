"""Lowering of joins of streams to the kernel."""
