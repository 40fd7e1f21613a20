"""Errors of brokers, with host and hint."""

from __future__ import annotations

import ssl

from headrace.connectors.mqtt.address import BrokerAddress
from headrace.errors import Problem


def describe_failure(error: OSError, address: BrokerAddress, where: str) -> Problem:
    """Return location, problem and hint for a failed connection."""
    if isinstance(error, ssl.SSLError):
        hint = "set the file of the authority: tls={ca: ca.pem}; is the port one with TLS?"
        return Problem(where, f"no TLS connection to {address.place}: {error.reason or error}", hint)
    if isinstance(error, ConnectionRefusedError) and error.errno is None:
        return describe_refusal(str(error), address, where)
    hint = f"is a broker running there? To start one: headrace mqtt up --port {address.port}"
    return Problem(where, f"no MQTT broker answers at {address.place}: {error.strerror or error}", hint)


def describe_refusal(reason: str, address: BrokerAddress, where: str) -> Problem:
    """Return location, problem and hint for a connection that the broker refuses."""
    hint = "the broker's log has the reason"
    if "version" in reason.lower():
        hint = 'set version="3.1.1"'
    elif "authori" in reason.lower() or "user name" in reason.lower():
        hint = "check user and password, for instance user: reader, password: ${MQTT_PASSWORD}"
    return Problem(where, f"the MQTT broker at {address.place} refuses the connection: {reason}", hint)
