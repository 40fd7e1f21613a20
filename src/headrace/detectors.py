"""Detectors: how a row of a key is compared with the earlier rows of that key.

>>> from headrace import detectors
>>> detectors.quantile(q=0.999)
Quantile(q=0.999)
"""

from headrace.analytics.detectors import *  # noqa: F403 - this is the public path of that module
from headrace.analytics.detectors import __all__ as __all__
