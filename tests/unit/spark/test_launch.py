"""A JVM whose launch is interrupted ends with it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyspark.java_gateway
import pytest

from headrace.spark.launch import start

launcher: Any = pyspark.java_gateway


def test_ctrl_c_while_the_jvm_starts_leaves_none_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupt(conf: object, options: dict[str, Any]) -> None:
        started.append(launcher.Popen([sys.executable, "-c", "import signal; signal.pause()"]))
        raise KeyboardInterrupt

    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setattr(launcher, "launch_gateway", interrupt)
    with pytest.raises(KeyboardInterrupt):
        start({"spark.master": "local[1]"}, (), tmp_path)
    assert started[0].wait(120) == -9
    assert launcher.Popen is subprocess.Popen
