"""Window functions over the rows of each key: aggregates over a frame, ranks, and values of other rows."""
