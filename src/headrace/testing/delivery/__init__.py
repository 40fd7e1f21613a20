"""The crash harness for sources and sinks."""
