"""The SQL shell: a catalogue of declarations, and queries over it in a warm Spark session."""
