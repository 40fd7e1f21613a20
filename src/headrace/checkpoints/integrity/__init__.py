"""Detect damaged and missing files of a checkpoint directory, without Spark."""
