"""The HTTP server of the job service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import uvicorn

from headrace.devtools.ports import probe_port
from headrace.errors import SetupError
from headrace.jobs.app import create_app
from headrace.jobs.security.connections import TimedProtocol, TimedServer, max_connections
from headrace.jobs.security.files import is_open
from headrace.jobs.security.principals import PrincipalStore
from headrace.jobs.service import JobService

GRACE_SECONDS = 2
"""The time until open streams are closed at shutdown."""


def check_address(service: JobService, port: int) -> None:
    """Reject an address that cannot be used.

    Raises:
        OptionError: other machines can reach the address, and there is no user and no token.
        SetupError: the port is in use, or the address does not belong to this machine.
    """
    host = service.policy.host
    has_credentials = service.policy.token is not None or not PrincipalStore(service.database).is_empty
    service.policy.check_bind(has_credentials=has_credentials)
    try:
        probe_port(port, host)
    except OSError as error:
        where, hint = f"{host}:{port}", "choose another --port, or stop the other process"
        raise SetupError(f"cannot listen: {error.strerror}", where=where, hint=hint) from None


def warnings_of(service: JobService) -> Iterator[str]:
    """Yield what makes a service less secure than it could be."""
    policy = service.policy
    if policy.is_reachable and not policy.uses_https:
        yield (
            "passwords, tokens and rows are sent without encryption: "
            "set --tls-certificate, or --public-url https://... behind a proxy with TLS"
        )
    if os.geteuid() == 0:
        yield "the service and its jobs run as root: use a user with few rights"
    if is_open(service.data):
        yield f"other users of this machine can list {service.data}: chmod 700 {service.data}"


def create_server(
    service: JobService,
    *,
    port: int,
    certificate: Path | None = None,
    key: Path | None = None,
) -> uvicorn.Server:
    """Return the server for the address of the service's policy."""
    proxies = service.policy.trusted_proxies
    config = uvicorn.Config(
        create_app(service),
        host=service.policy.host,
        port=port,
        http=TimedProtocol,
        ws="none",
        backlog=max_connections() // 4,  # asyncio accepts so many at once, before the limit closes some
        log_level="warning",
        timeout_graceful_shutdown=GRACE_SECONDS,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return TimedServer(config)


def run_server(
    service: JobService,
    *,
    port: int,
    certificate: Path | None = None,
    key: Path | None = None,
) -> None:
    """Serve on the address of the service's policy until SIGINT or SIGTERM; jobs continue to run."""
    with suppress(KeyboardInterrupt):
        create_server(service, port=port, certificate=certificate, key=key).run()
