"""The bridge to the kernel's joins: two frames in, tagged rows out."""
