"""The three best players of each game, as a table that follows every score."""
