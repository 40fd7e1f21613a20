"""Steps that find patterns in the rows of a key."""
