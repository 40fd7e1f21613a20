"""The bridge to the kernel's tables."""
