"""From a plan to Spark: Java, jars and the session; lowering of each step; delivery of each epoch."""
