"""Benchmarks: Headrace beside what a user would pick instead."""
