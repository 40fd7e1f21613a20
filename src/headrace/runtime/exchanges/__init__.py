"""Exchanges: durable logs between two queries of a pipeline."""
