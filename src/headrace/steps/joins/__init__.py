"""Steps with two inputs: joins of streams."""
