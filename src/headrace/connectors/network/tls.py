"""TLS for connections that Python's clients open."""

from __future__ import annotations

import ssl
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from headrace.access.options import FilePath
from headrace.errors import SetupError

_File = Annotated[str, FilePath()]


class TlsFiles(BaseModel):
    """Files in PEM form; without `ca`, the authorities that the system trusts.

    >>> TlsFiles(ca="ca.pem").verify_host
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ca: _File | None = Field(
        default=None, description="A file with the certificates of the authorities that sign the server's"
    )
    certificate: _File | None = Field(default=None, description="A file with this client's certificate chain")
    key: _File | None = Field(default=None, description="A file with this client's private key")
    key_password: SecretStr | None = Field(default=None, description="The password of the private key")
    verify_host: bool = Field(
        default=True, description="Check that the certificate is for the name of the host"
    )


def client_context(files: TlsFiles | None) -> ssl.SSLContext:
    """Return the TLS settings of a client.

    Raises:
        SetupError: a file cannot be read.
    """
    chosen = files or TlsFiles()
    try:
        context = ssl.create_default_context(cafile=chosen.ca)
        if chosen.certificate is not None:
            password = chosen.key_password.get_secret_value() if chosen.key_password else None
            context.load_cert_chain(chosen.certificate, chosen.key, password)
    except OSError as error:
        files_named = ", ".join(name for name in (chosen.ca, chosen.certificate, chosen.key) if name)
        raise SetupError(
            f"the files of `tls` cannot be used ({files_named}): {error}", where="tls"
        ) from error
    context.check_hostname = chosen.verify_host
    return context
