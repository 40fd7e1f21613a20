"""Warm sessions: a started JVM with the kernel, which runs with the same settings use one after the other."""
