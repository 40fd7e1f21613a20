"""Terminal output: tables, the live line, errors."""
