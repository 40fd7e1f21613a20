"""Headrace: stream processing on Spark, in Python."""
