"""What Kafka's clients say when something is wrong, in words that a user can act on."""

from __future__ import annotations

import re

from headrace.errors import Problem

FENCED = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
"""How the server refuses a producer whose place another has taken, or whose transaction it has given up."""

_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"SaslAuthenticationException: ?(.*)|TopicAuthorizationException: ?(.*)|ClusterAuthorizationException: ?(.*)",
        "Kafka at {servers} refuses the login: {said}",
        "check sasl: {{user, password, mechanism}}, and what this user may do",
    ),
    (
        r"SslAuthenticationException: ?(.*)",
        "Kafka at {servers} and this client don't agree on TLS: {said}",
        "check tls: {{ca, certificate, key}}, and that this is the server's TLS port",
    ),
    (
        r"OffsetOutOfRange|Some data may have been lost|offsets? .{0,80}(?:changed|out of range|has been aged out)",
        "records of Kafka at {servers} were gone before they were read",
        "retention removed them, the topic was made anew, or `start` names an offset that it doesn't have; "
        'on_data_loss="continue" goes on with those that are there',
    ),
    (
        r"UnknownTopicOrPartitionException: ?(.*)",
        "Kafka at {servers} lost a topic or partition that the pipeline uses",
        "was it deleted? headrace kafka topics lists them",
    ),
    (
        r"RecordTooLargeException: ?(.*)",
        "a row is too large for Kafka at {servers}: {said}",
        "settings={{'max.request.size': ...}} and, where the topic says so, its max.message.bytes; or leave columns out: value=[...]",
    ),
    (
        r"TimeoutException: (.*not present in metadata.*)",
        "Kafka at {servers} tells of no such topic or partition: {said}",
        "is it there (headrace kafka topics), and do its brokers run? The next run goes on where this one stopped",
    ),
    (
        r"ConfigException: ?(.*)",
        "Kafka's client refuses its settings: {said}",
        "check servers, which are host:port, and settings",
    ),
    (
        r"kafka[\w.$]*\.TimeoutException: ?(.*)|TimeoutException: ?(.*(?:topic|node assignment|offset|producer).*)"
        r"|java\.util\.concurrent\.TimeoutException(.*)|No resolvable bootstrap urls(.*)|Call\(callName.*(?:timed out|aborted)(.*)",
        "no Kafka server answers at {servers}: {said}",
        "is it running there? (A broker whose disk is full ends.) headrace kafka up starts one to try"
        " things on; the next run goes on where this one stopped",
    ),
)


def told(failure: str, servers: str) -> Problem | None:
    """The problem behind a failure of Spark's or of Kafka's client, if it is one of Kafka's.

    >>> told("... org.apache.kafka.common.errors.SaslAuthenticationException: no such user", "h:1").what
    'Kafka at h:1 refuses the login: no such user'
    """
    if "kafka" not in failure.lower():
        return None
    for expression, what, hint in _KNOWN:
        if found := re.search(expression, failure):
            said = next((group.strip() for group in found.groups() if group), "no answer")
            return Problem("kafka", what.format(servers=servers, said=said), hint.format())
    return None


def reason(failure: str) -> str:
    r"""The innermost cause: what Kafka's client said, without the way to it.

    >>> reason("An error occurred while calling o1.check.\n: a.b.BadException: so bad\n\tat a.b.C")
    'so bad'
    """
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    said = next(iter(causes[-1:] or thrown[:1] or lines), "no word")
    return re.sub(r"^[\w.$]+(?:Exception|Error): (?=.)", "", said)


def is_fence(failure: str) -> bool:
    """Whether a producer failed because a newer one has its place."""
    return any(word in failure for word in FENCED)
