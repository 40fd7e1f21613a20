"""Lowering of tables to the kernel."""
