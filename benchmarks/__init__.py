"""Benchmarks of Headrace against the alternatives that a user would choose."""
