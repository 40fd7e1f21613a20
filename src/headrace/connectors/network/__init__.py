"""Addresses, TLS and web servers of connectors."""
