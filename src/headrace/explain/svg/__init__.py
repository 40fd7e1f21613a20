"""SVG pictures: marks, their style sheet, and the one writer for time lines and state diagrams."""
