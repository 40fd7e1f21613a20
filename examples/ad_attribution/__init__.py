"""The click that followed each impression of an advertisement."""
