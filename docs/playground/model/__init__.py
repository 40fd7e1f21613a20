"""The specification of windows, triggers, watermarks and patterns as small Python models, without dependencies.

The tests compare the kernel with them on random input; the playground of the documentation runs them in the browser.
"""
