"""Settings of real-time mode: those of the session, and of Kafka sources."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from headrace.connectors.kafka import Kafka
from headrace.plan.graph import Graph
from headrace.spark.launch import REGIONS, active_session
from headrace.steps.endpoints.source import Source

SETTINGS = {
    "spark.shuffle.manager": "org.apache.spark.shuffle.streaming.MultiShuffleManager",
    # The maximum time a row waits in the shuffle; Spark's default of 100 ms dominates the latency.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
}
QUICK = {
    # Shorter plan texts, which Spark formats twice per batch for its UI.
    "spark.sql.ui.explainMode": "simple",
    # No validation of the plan after each optimizer rule.
    "spark.sql.lightweightPlanChangeValidation": "false",
}
JAVA = "spark.driver.extraJavaOptions"
JAVA_OPTION_VARIABLES = "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"
"""Environment variables from which a JVM reads options."""
MEMORY = "spark.driver.memory"
JVM_OPTIONS = f"-XX:+UseG1GC -Xmn128m {REGIONS} -XX:MetaspaceSize=256m -XX:CompileThresholdScaling=1"
"""A small young generation has short garbage collection pauses; compilation begins early."""
MASTER = "local[16]"
"""All tasks of a real-time query run at the same time, so each needs a slot, however many cores there are."""


def session_master(master: str | None) -> str | None:
    """Return the master of the session; None for that of the active session."""
    return master or (None if active_session() else MASTER)


def session_settings(graph: Graph, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the session; those of the shuffle only if there is a stateful step."""
    stateful = any(node.stateful for node in graph)
    required = SETTINGS | {"spark.sql.shuffle.partitions": "2"} if stateful else {}
    if active_session():
        return required | dict(conf)
    return QUICK | required | dict(conf) | _garbage_collection(conf)


def _garbage_collection(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the garbage collector, unless the user's options select one.

    A JVM does not start if its options select two.
    """
    java_options = conf.get(JAVA, "")
    if any(
        "GC" in options
        for options in (java_options, *(os.environ.get(name, "") for name in JAVA_OPTION_VARIABLES))
    ):
        return {JAVA: java_options} if java_options else {}
    memory = conf.get(MEMORY, "1g")
    return {MEMORY: memory, JAVA: f"-Xms{memory} {JVM_OPTIONS} {java_options}".strip()}


def tune_sources(graph: Graph) -> Graph:
    """Return the plan with Kafka sources that fetch for low latency, without limits per batch."""
    nodes = dict(graph.nodes)
    for node in graph.of(Source):
        if isinstance(node.connector, Kafka):
            quick = {"fetch": "latency", "max_per_batch": None, "min_tasks": None}
            nodes[node.name] = replace(node, connector=node.connector.model_copy(update=quick))
    return Graph(graph.name, nodes, graph.places)
