"""Tables: the latest row of each key, the first rows of each key, and joins with tables."""
