"""Smoothing: how the noise of a column is removed, row by row.

>>> from headrace import smoothing
>>> smoothing.median(rows=7)
Median(rows=7)
"""

from headrace.analytics.smoothing import *  # noqa: F403 - this is the public path of that module
from headrace.analytics.smoothing import __all__ as __all__
