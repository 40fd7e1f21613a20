"""Windows: on the kernel, on Spark's own operators, and aggregates in Python."""
