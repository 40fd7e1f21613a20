"""Plan nodes to DataFrames, one function per node."""
