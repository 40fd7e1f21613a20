"""Addresses, TLS, web servers and lookup values of connectors."""
