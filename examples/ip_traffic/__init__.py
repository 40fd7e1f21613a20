"""Large packets, by a query in SQL."""
