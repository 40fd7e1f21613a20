"""SQL statements: the facts of a query, checks of expressions, and `MATCH_RECOGNIZE`, which Spark lacks."""
