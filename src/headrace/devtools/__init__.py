"""Tools for development: a Kafka server, `doctor`."""
