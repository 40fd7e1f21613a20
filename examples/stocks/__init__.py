"""Rolling minimum, maximum and mean per symbol."""
