"""Orders converted to euros with the rate that was valid."""
