"""`headrace users`: users and tokens of a job service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import AsJson, secret_variable
from headrace.cli.terminal.output import show, show_json
from headrace.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from headrace.jobs.security.principals import PrincipalStore, Role

users = typer.Typer(no_args_is_help=True, help="Add, list and delete users and tokens of a job service.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a user, or of the holder of a token.")]
RoleOption = Annotated[str, typer.Option("--role", metavar="ROLE", help="viewer, operator or admin.")]
Data = Annotated[Path, typer.Option(metavar="DIRECTORY", help="The data directory of the service.")]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URL", envvar="HEADRACE_STORE", help="The store, if it is not in the data directory."
    ),
]
_DATA = Path(".headrace/service")


@users.command()
def add(name: Name, role: RoleOption = "operator", data: Data = _DATA, store: Store = None) -> None:
    """Add or change a user.

    The password is read from HEADRACE_PASSWORD, from the file that HEADRACE_PASSWORD_FILE names, or from the
    terminal.
    """
    chosen = _parse_role(role)
    password = secret_variable("HEADRACE_PASSWORD") or typer.prompt(
        "Password", hide_input=True, confirmation_prompt=True
    )
    with _open(data, store) as principals:
        principals.add_user(name, password, chosen)
    show(f"{name} {role}")


@users.command("list")
def list_(json: AsJson = False, data: Data = _DATA, store: Store = None) -> None:
    """List all users and the tokens in force; a token itself cannot be read again."""
    with _open(data, store, existing=True) as principals:
        listed = [*({**user, "kind": "user"} for user in principals.users()), *_list_tokens(principals)]
    if json:
        show_json(listed)
        return
    for each in listed:
        label = f" token ({each['label']})" if each["kind"] == "token" else ""
        show(f"{each['name']} {each['role']}{label}")


@users.command()
def delete(name: Name, data: Data = _DATA, store: Store = None) -> None:
    """Delete a user with all sessions and tokens, or all tokens of a name without a user."""
    with _open(data, store, existing=True) as principals:
        if not principals.delete_user(name):
            known = [each["name"] for each in (*principals.users(), *_list_tokens(principals))]
            raise OptionError(f"unknown user {name!r}", where="users", hint=did_you_mean(name, known))
    show(f"{name} deleted")


@users.command()
def token(name: Name, role: RoleOption = "operator", data: Data = _DATA, store: Store = None) -> None:
    """Create a token for programs and print it; send it as `Authorization: Bearer TOKEN`."""
    chosen = _parse_role(role)
    with _open(data, store) as principals:
        typer.echo(principals.issue_token(name, chosen, "command line"))


def _list_tokens(principals: PrincipalStore) -> list[dict[str, Any]]:
    tokens = principals.tokens()
    return [{"name": token.pop("owner"), **token, "kind": "token"} for token in tokens]


def _parse_role(role: str) -> Role:
    from headrace.jobs.security.principals import Role

    if role not in list(Role):
        raise OptionError(f"expected viewer, operator or admin, got {role!r}", where="--role")
    return Role(role)


@contextmanager
def _open(data: Path, store: str | None, *, existing: bool = False) -> Iterator[PrincipalStore]:
    """Open the store; `existing` rejects a directory without one, which is otherwise created."""
    from headrace.jobs.security.files import private_files
    from headrace.jobs.security.principals import PrincipalStore
    from headrace.jobs.store.database import Database
    from headrace.jobs.store.schema import create_tables

    store = store or secret_variable("HEADRACE_STORE")
    if existing and store is None and not (data / "jobs.db").exists():
        hint = "pass --data DIRECTORY, or run the command where the service was started"
        raise OptionError(f"there is no job service in {data}", where="users", hint=hint)
    with private_files(), closing(Database(store or str(data / "jobs.db"))) as database:
        create_tables(database)
        yield PrincipalStore(database)
