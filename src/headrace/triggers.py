"""Triggers: when in processing time a window emits results.

A trigger is evaluated once per window and micro-batch, after the rows of the micro-batch.

>>> from headrace import triggers
>>> triggers.after_watermark(early=triggers.every("30 seconds"), late=triggers.after_count(1))
AfterWatermark(early=Every(period='30 seconds'), late=AfterCount(rows=1))
"""

from headrace.windows.triggers import *  # noqa: F403 - this is the public path of that module
from headrace.windows.triggers import __all__ as __all__
