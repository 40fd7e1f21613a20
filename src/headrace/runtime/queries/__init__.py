"""Planning of the Spark queries of a pipeline: streaming plans, sinks, output modes and state signatures."""
