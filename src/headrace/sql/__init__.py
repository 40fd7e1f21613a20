"""SQL: facts about queries, checks of expressions, and the parser of `MATCH_RECOGNIZE`."""
