"""Card fraud: payments outside the home country, cards that are being tested, totals per card."""
