"""Test runs: a plan on a few rows, with every connector replaced by memory, so that nothing is written."""
