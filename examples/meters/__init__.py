"""Photos of meters, read by a model: a reading that goes backwards."""
