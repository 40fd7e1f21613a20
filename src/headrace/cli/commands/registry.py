"""`headrace registry`: the subjects and schemas of a schema registry."""

from __future__ import annotations

import dataclasses
import json as jsons
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import AsJson
from headrace.cli.terminal.output import print_message, show, show_json
from headrace.errors import OptionError, SourceError

if TYPE_CHECKING:
    from headrace.connectors.network.schema_registry import RegisteredSchema, SchemaRegistryClient

registry = typer.Typer(
    help="Subjects and schemas of a schema registry with Confluent's interface.", no_args_is_help=True
)

_Url = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The registry; default: $SCHEMA_REGISTRY, or http://localhost:8081."),
]
_User = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The user; the password is read from $SCHEMA_REGISTRY_PASSWORD."),
]
_Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The subject, such as orders-value.")]
_Version = Annotated[
    str, typer.Option("--version", metavar="N", help="The number of the version, or latest.")
]


@registry.command("list")
def list_(*, url: _Url = None, user: _User = None, json: AsJson = False) -> None:
    """List the subjects.

    For example:

    - `headrace registry list --url http://localhost:8081`
    """
    client = _connect(url, user)
    with _errors(client, "the subjects cannot be listed: "):
        subjects = client.subjects()
    if json:
        show_json(subjects)
        return
    for subject in subjects:
        show(subject)


@registry.command("show")
def show_schema(
    subject: _Subject,
    *,
    version: _Version = "latest",
    url: _Url = None,
    user: _User = None,
    json: AsJson = False,
) -> None:
    """Print the schema of a subject; with --json also its version, id and type.

    For example:

    - `headrace registry show orders-value --version 2`
    """
    registered = _request(subject, version, url, user)
    if json:
        show_json(dataclasses.asdict(registered))
    else:
        show(_text(registered))
        print_message(
            f"{registered.subject}: version {registered.version}, id {registered.id}, {registered.kind}"
        )


@registry.command()
def pull(
    subject: _Subject,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, such as orders.avsc.")],
    *,
    version: _Version = "latest",
    url: _Url = None,
    user: _User = None,
    json: AsJson = False,
) -> None:
    """Write the schema of a subject to a file, for `schema_file` of the format avro.

    For example:

    - `headrace registry pull orders-value orders.avsc`
    """
    registered = _request(subject, version, url, user)
    if registered.references:
        names = ", ".join(str(reference["name"]) for reference in registered.references)
        hint = "define these types in one schema"
        raise OptionError(f"the schema refers to other subjects: {names}", where=subject, hint=hint)
    file.write_text(f"{_text(registered)}\n", "utf-8")
    if json:
        show_json(
            {
                "file": str(file),
                "subject": registered.subject,
                "version": registered.version,
                "id": registered.id,
            }
        )
    else:
        print_message(f"{file}: version {registered.version} of {registered.subject}", "good")


def _request(subject: str, version: str, url: str | None, user: str | None) -> RegisteredSchema:
    if version != "latest" and not version.isdigit():
        raise OptionError(f"expected a number or latest, got {version!r}", where="--version")
    client = _connect(url, user)
    with _errors(client, f"the schema of `{subject}` cannot be read: "):
        return client.version(subject, version)


def _connect(url: str | None, user: str | None) -> SchemaRegistryClient:
    from headrace.connectors.network.schema_registry import SchemaRegistryClient
    from headrace.formats.option_problems import validated
    from headrace.formats.schema_registry import SchemaRegistry

    options = validated(
        SchemaRegistry,
        {
            "url": url or os.environ.get("SCHEMA_REGISTRY") or "http://localhost:8081",
            "user": user or os.environ.get("SCHEMA_REGISTRY_USER"),
            "password": os.environ.get("SCHEMA_REGISTRY_PASSWORD"),
            "retry_timeout": "0 seconds",
        },
        where="registry",
    )
    return SchemaRegistryClient(options)


def _errors(client: SchemaRegistryClient, action: str) -> AbstractContextManager[None]:
    from headrace.connectors.retry import server_errors

    return server_errors(client, SourceError, action, where="registry")


def _text(registered: RegisteredSchema) -> str:
    """Return the schema; JSON is indented."""
    try:
        return jsons.dumps(jsons.loads(registered.schema), indent=2, ensure_ascii=False)
    except ValueError:
        return registered.schema.rstrip("\n")
