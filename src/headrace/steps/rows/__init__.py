"""Steps that handle each row by itself."""
