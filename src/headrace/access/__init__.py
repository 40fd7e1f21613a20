"""What a document may use of the machine that loads it: code, files, hosts and variables.

A job service that others can reach restricts documents. The restriction is in force while a document is
loaded, in the service and again in the driver of the job. Options that reach a file, a host or a class are
declared as such (`headrace.access.options`), so they are decided on the value that the connector uses, before
a file is read or a module is imported. Without a restriction, everything is accepted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from headrace.errors import OptionError

ENVIRONMENT = "HEADRACE_ACCESS"
"""The environment variable by which the service passes the restriction to the driver of a job."""
SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable without which Python imports modules from the current directory."""
CODE_HINT = "start the service with --allow-code"
FILES_HINT = "start the service with --allow-files DIRECTORY"
_FILE_SUFFIX = "_FILE"


@dataclass(frozen=True)
class Access:
    """The accepted parts of a document.

    >>> Access(hosts=("db", "*.example.org")).accepts_host("KAFKA.example.org")
    True
    >>> Access().accepts_variable("AWS_SECRET_ACCESS_KEY")
    False
    """

    code: bool = False
    """Accept Python, SQL functions that call Java, and client settings that name a class or a file."""
    files: str | None = None
    """A directory whose files are accepted, besides relative paths; None for no other file."""
    hosts: tuple[str, ...] = ()
    """The accepted hosts, with `*` as in a shell; all if empty."""
    variables: tuple[str, ...] = ()
    """The variables that are expanded, with `*` as in a shell."""

    def accepts_host(self, host: str) -> bool:
        """Return True if a document may name a host."""
        return not self.hosts or any(fnmatchcase(host.lower(), each.lower()) for each in self.hosts)

    def accepts_variable(self, name: str) -> bool:
        """Return True if a variable is expanded in documents."""
        return any(fnmatchcase(name, each) for each in self.variables)

    def environment(self) -> dict[str, str]:
        """Return the variable that puts this restriction in force in another process."""
        return {ENVIRONMENT: json.dumps(asdict(self))}

    @classmethod
    def passed_by(cls, environment: Mapping[str, str]) -> Access | None:
        """Return the restriction that a service has passed to this process; None if there is none.

        >>> Access.passed_by(Access(hosts=("db",)).environment())
        Access(code=False, files=None, hosts=('db',), variables=())
        """
        text = environment.get(ENVIRONMENT)
        if text is None:
            return None
        fields: dict[str, Any] = json.loads(text)
        return cls(fields["code"], fields["files"], tuple(fields["hosts"]), tuple(fields["variables"]))


_restriction: ContextVar[Access | None] = ContextVar("restriction of documents", default=None)
_of_process: list[Access] = []


def current() -> Access | None:
    """Return the restriction of the document that is being loaded; None if everything is accepted."""
    return _restriction.get()


def current_code() -> bool:
    """Return True if Python, and all that can load a class, is accepted."""
    access = _of_document_or_process()
    return access is None or access.code


def _of_document_or_process() -> Access | None:
    return _restriction.get() or (_of_process[-1] if _of_process else None)


@contextmanager
def restrict(access: Access | None) -> Iterator[None]:
    """Restrict the documents that are loaded inside the context; None for no restriction."""
    token = _restriction.set(access)
    try:
        yield
    finally:
        _restriction.reset(token)


def restrict_process(access: Access) -> None:
    """Put a restriction in force for the code, expressions and variables that this process reads later.

    Rules are read while the job runs. Files and hosts are decided on when the document is loaded: a run opens
    files of its own, too.
    """
    _of_process.append(access)


def accepted_environment() -> Mapping[str, str]:
    """Return the variables that documents may expand, and those that name files with their values."""
    access = _of_document_or_process()
    if access is None:
        return os.environ
    return {
        name: value
        for name, value in os.environ.items()
        if access.accepts_variable(name) or access.accepts_variable(name.removesuffix(_FILE_SUFFIX))
    }


def spark_settings() -> dict[str, str]:
    """Return the Spark settings of a job, which hold the restriction in force also inside Spark."""
    path = {f"spark.executorEnv.{SAFE_PATH}": "1"}
    return path if current_code() else path | {"spark.sql.runSQLOnFiles": "false"}


def check_variable(name: str) -> None:
    """Reject a variable that is not expanded in documents.

    Raises:
        OptionError: a service restricts documents, and does not list this variable.
    """
    access = _of_document_or_process()
    if access is not None and not access.accepts_variable(name):
        hint = f"start the service with --allow-variable {name}"
        raise OptionError(f"the variable `{name}` is not accepted", hint=hint)


def check_import(reference: str) -> None:
    """Reject the import of user code.

    Raises:
        OptionError: a service restricts documents, and accepts no code.
    """
    if not current_code():
        raise OptionError(f"the Python of `{reference}` is not accepted", hint=CODE_HINT)
