"""SVG pictures: marks, style sheet and writer, for time lines and state diagrams."""
