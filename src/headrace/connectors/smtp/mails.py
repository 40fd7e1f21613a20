"""Mails of rows: which rows share a mail, and its text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import WriteContext
from headrace.connectors.flatten import literal
from headrace.connectors.row_encoding import Fields, encode_text
from headrace.connectors.templates import template_expression
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.smtp import Smtp

_ADDRESS = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+")


def mail_expressions(options: Smtp, fields: Fields, where: str) -> list[str]:
    """Return the expressions of recipients, subject and body.

    Raises:
        DeliveryError: an option names an unknown column.
    """
    to = [template_expression(recipient, fields, where) for recipient in options.to]
    if options.body is not None:
        body = template_expression(options.body, fields, where)
    else:
        lines = (
            f"concat({literal(f'{name}: ')}, coalesce({encode_text(field)}, ''))"
            for name, field in fields.items()
        )
        body = f"concat_ws({literal(chr(10))}, {', '.join(lines)})"
    return [f"array({', '.join(to)})", template_expression(options.subject, fields, where), body]


@dataclass(frozen=True)
class Mail:
    """The rows that share a mail."""

    to: tuple[str, ...]
    subject: str
    bodies: tuple[str, ...]

    def check(self, where: str) -> None:
        """Check the recipients, which rows may have computed.

        Raises:
            DeliveryError: a recipient is no single address.
        """
        for address in self.to:
            if not _ADDRESS.fullmatch(address):
                hint = "filter such rows before the sink"
                raise DeliveryError(f"`{address}` is no address to send mail to", where=where, hint=hint)

    def message(self, sender: str, context: WriteContext, epoch: int, number: int) -> EmailMessage:
        """Return the message; the same mail of the same epoch has the same id."""
        text = "\n\n".join(self.bodies)
        parts = (context.pipeline, context.sink, *self.to, self.subject, text)
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        message = EmailMessage()
        message["Subject"] = self.subject
        message["From"], message["To"] = sender, ", ".join(self.to)
        message["Message-ID"] = f"<{context.checkpoint_id}.{epoch}.{number}.{digest}@headrace>"
        message.set_content(text)
        return message


def group_rows(rows: Iterable[tuple[Any, ...]], size: int) -> Iterator[Mail]:
    """Yield the mails of rows; rows with the same recipients and subject share one, up to the size.

    >>> rows = [(["a@b"], "full", "1"), (["c@d"], "full", "2"), (["a@b"], "full", "3")]
    >>> [(mail.to, mail.bodies) for mail in group_rows(rows, 10)]
    [(('a@b',), ('1', '3')), (('c@d',), ('2',))]
    """
    waiting: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for to, subject, body in rows:
        # A line break in a header would begin another header.
        head = (tuple(dict.fromkeys(address.strip() for address in to)), " ".join(subject.split()))
        bodies = waiting.setdefault(head, [])
        bodies.append(body)
        if len(bodies) == size:
            yield Mail(*head, tuple(waiting.pop(head)))
    for head, bodies in waiting.items():
        yield Mail(*head, tuple(bodies))
