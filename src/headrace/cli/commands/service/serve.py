"""`headrace serve`: the job service."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import flag, secret_variable
from headrace.cli.terminal.output import print_message
from headrace.errors import OptionError

HOST, PORT = "127.0.0.1", 8642


def serve(
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = HOST,
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="The port; 0: any.")] = PORT,
    data: Annotated[
        Path, typer.Option(metavar="DIRECTORY", help="The directory of jobs, checkpoints and history.")
    ] = Path(".headrace/service"),
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="HEADRACE_STORE",
            help="The store as a PostgreSQL URL; default: a SQLite file in the data directory.",
        ),
    ] = None,
    alerts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rules of alerts and the channels that notify, as YAML."),
    ] = None,
    lineage: Annotated[
        str | None,
        typer.Option(metavar="URL", help="An OpenLineage server, or a file for its events."),
    ] = None,
    login: Annotated[bool, flag("--login", help="Require a login or a token on loopback, too.")] = False,
    allow_files: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            help="On other addresses: the files that submitted documents may read and write.",
        ),
    ] = None,
    allow_code: Annotated[
        bool, flag("--allow-code", help="On other addresses: accept Python in submitted pipelines.")
    ] = False,
    allow_variables: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-variable",
            metavar="NAME",
            help="On other addresses: a variable that documents may expand, such as PG_*; repeatable.",
        ),
    ] = None,
    allow_hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="HOST",
            help="On other addresses: a host that documents may name; repeatable. Default: all hosts.",
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark master of jobs that set none.")
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Maximum and default memory of a job, such as 2g.")
    ] = None,
    private_rows: Annotated[
        bool,
        flag("--private-rows", help="Rows, documents and logs of a job: readable by owner and admins only."),
    ] = False,
    audit_days: Annotated[
        int, typer.Option(metavar="DAYS", min=1, max=36_500, help="How long the audit log is kept.")
    ] = 90,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The address that users open, such as that of a reverse proxy."),
    ] = None,
    trusted_proxies: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESSES",
            help="Proxies whose X-Forwarded-For and X-Forwarded-Proto are used: addresses or networks, "
            "with commas.",
        ),
    ] = None,
    tls_certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate, to serve https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate.")] = None,
) -> None:
    """Run jobs: REST, metrics and live pages in one process.

    Each job is a separate process: jobs continue while the service is down, and the next service resumes
    supervision.

    For example:

    - `headrace serve`
    - `headrace serve --data /var/lib/headrace --store postgresql://headrace@db/jobs`
    """
    from headrace.devtools.ports import free_ports
    from headrace.jobs.security.documents import memory_bytes
    from headrace.jobs.security.files import private_files
    from headrace.jobs.security.policy import Policy
    from headrace.jobs.server import check_address, run_server, warnings_of
    from headrace.jobs.service import JobService
    from headrace.metrics.alerts.rules import load_settings

    store = store or secret_variable("HEADRACE_STORE")
    settings = None if alerts is None else load_settings(alerts)
    if (tls_certificate is None) != (tls_key is None):
        raise OptionError("expected --tls-certificate and --tls-key together", where="serve")
    if memory_limit is not None:
        memory_bytes(memory_limit, where="--memory-limit")
    policy = Policy(
        host=host,
        login=login,
        allow_files=allow_files,
        allow_code=allow_code,
        allow_variables=tuple(allow_variables or ()),
        allow_hosts=tuple(allow_hosts or ()),
        master=master,
        memory_limit=memory_limit,
        token=_take_secrets(),
        tls=tls_certificate is not None,
        private_rows=private_rows,
        public_url=None if public_url is None else public_url.rstrip("/"),
        trusted_proxies=tuple(each.strip() for each in (trusted_proxies or "").split(",") if each.strip()),
    )
    with private_files():
        service = JobService(
            data, store=store, alerts=settings, policy=policy, lineage=lineage, audit_days=audit_days
        )
        with closing(service):
            port = port or free_ports(1)[0]
            check_address(service, port)
            for warning in warnings_of(service):
                print_message(f"warning: {warning}", style="warn")
            address = f"[{host}]" if ":" in host else host
            url = policy.public_url or f"{'https' if policy.tls else 'http'}://{address}:{port}"
            print_message(f"jobs: {url}  data: {service.data}")
            run_server(service, port=port, certificate=tls_certificate, key=tls_key)


def _take_secrets() -> str | None:
    """Return the token and remove all secrets from the environment, which variables in documents read."""
    from headrace.jobs.process import SECRETS

    token = secret_variable("HEADRACE_TOKEN")
    for name in SECRETS:
        os.environ.pop(name, None)
    return token
