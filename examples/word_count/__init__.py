"""Running counts of the words that come in over a TCP socket."""
