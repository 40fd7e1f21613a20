"""Time lines of transcripts: rows, windows, panes and the watermark over event time."""
