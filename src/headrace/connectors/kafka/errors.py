"""Translates errors of Kafka's Java client into problems with a hint."""

from __future__ import annotations

import re

from headrace.errors import Problem

_FENCED = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
"""Errors of a producer whose transactional id another one uses now, or whose transaction has timed out."""

_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    (
        r"SaslAuthenticationException: ?(.*)|TopicAuthorizationException: "
        r"?(.*)|ClusterAuthorizationException: ?(.*)",
        "Kafka at {servers} refuses the login: {reason}",
        "check sasl: {{user, password, mechanism}}, and the permissions of this user",
    ),
    (
        r"SslAuthenticationException: ?(.*)",
        "TLS with Kafka at {servers} failed: {reason}",
        "check tls: {{ca, certificate, key}}, and that this is the server's TLS port",
    ),
    (
        r"OffsetOutOfRange|Some data may have been lost|offsets? .{0,80}(?:changed|out of range|has been "
        r"aged out)",
        "records of Kafka at {servers} were deleted before they were read",
        "retention deleted them, the topic was created again, or `start` has an offset that does not exist; "
        'on_data_loss="continue" reads the remaining records',
    ),
    (
        r"UnknownTopicOrPartitionException: ?(.*)",
        "Kafka at {servers} lost a topic or partition that the pipeline uses",
        "check whether it was deleted: headrace kafka topics",
    ),
    (
        r"RecordTooLargeException: ?(.*)",
        "a row is too large for Kafka at {servers}: {reason}",
        "raise settings={{'max.request.size': ...}} and the topic's max.message.bytes, or write fewer "
        "columns: value=[...]",
    ),
    (
        r"TimeoutException: (.*not present in metadata.*)",
        "Kafka at {servers} has no such topic or partition: {reason}",
        "check that it exists (headrace kafka topics) and that its brokers run; the next run resumes here",
    ),
    (
        r"ConfigException: ?(.*)",
        "invalid settings of Kafka's client: {reason}",
        "check `servers`, a list of host:port, and `settings`",
    ),
    (
        r"kafka[\w.$]*\.TimeoutException: ?(.*)|TimeoutException: ?(.*(?:topic|node "
        r"assignment|offset|producer).*)"
        r"|java\.util\.concurrent\.TimeoutException(.*)|No resolvable bootstrap "
        r"urls(.*)|Call\(callName.*(?:timed out|aborted)(.*)",
        "no Kafka server answers at {servers}: {reason}",
        "check that it is running (a broker whose disk is full stops); `headrace kafka up` starts a local "
        "one; the next run resumes here",
    ),
)


def translate_error(failure: str, servers: str) -> Problem | None:
    """Return the problem behind a failure of Spark or of Kafka's client; None if Kafka did not cause it.

    >>> message = "... org.apache.kafka.common.errors.SaslAuthenticationException: no such user"
    >>> translate_error(message, "h:1").what
    'Kafka at h:1 refuses the login: no such user'
    """
    if "kafka" not in failure.lower():
        return None
    for expression, what, hint in _PROBLEMS:
        if match := re.search(expression, failure):
            reason = next((group.strip() for group in match.groups() if group), "no answer")
            return Problem("kafka", what.format(servers=servers, reason=reason), hint.format())
    return None


def root_cause(failure: str) -> str:
    r"""Return the message of the innermost cause in a Java stack trace.

    >>> root_cause("An error occurred while calling o1.check.\n: a.b.BadException: so bad\n\tat a.b.C")
    'so bad'
    """
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    message = next(iter(causes[-1:] or thrown[:1] or lines), "no message")
    return re.sub(r"^[\w.$]+(?:Exception|Error): (?=.)", "", message)


def is_fenced(failure: str) -> bool:
    """Return True if a producer failed because a newer one uses its transactional id."""
    return any(name in failure for name in _FENCED)
