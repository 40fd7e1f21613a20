"""What a connector implements, by its role; for authors of connectors.

A connector is a class of options, a `Connector`, that overrides the members of its roles:

| role | members | it returns |
|---|---|---|
| `source` | `Source` | a `Reader`, which returns a streaming DataFrame |
| `sink` | `Sink` | a `Writer`, which delivers epochs in two phases |
| `table` | `Table` | a `Reader`, a `KeyTable` for lookups by key, or a `Listing` for rules |

A writer that delivers exactly once keeps a `Ledger` in its target: the last epoch of each checkpoint id, and
the fencing token. These names are public; other modules of `headrace.connectors` may change between minor
versions.
"""

from headrace.connectors.base import (
    DELETED,
    Acknowledging,
    Carries,
    Connector,
    Guarantee,
    Load,
    Readable,
    ReadContext,
    Reader,
    Receiving,
    Reception,
    Role,
    Sink,
    Source,
    Staged,
    StagedRows,
    Table,
    Upserting,
    WriteContext,
    WriteMode,
    Writer,
    require_open,
)
from headrace.connectors.failpoints import reach
from headrace.connectors.flatten import json_text
from headrace.connectors.ledger import Ledger, LedgerEntry, LedgerStorage, LedgerWriter
from headrace.connectors.lookups import KeyReader, KeyTable, Listing, LookupContext
from headrace.connectors.roles import ReadOption, SinkOption, SourceOption

__all__ = [
    "DELETED",
    "Acknowledging",
    "Carries",
    "Connector",
    "Guarantee",
    "KeyReader",
    "KeyTable",
    "Ledger",
    "LedgerEntry",
    "LedgerStorage",
    "LedgerWriter",
    "Listing",
    "Load",
    "LookupContext",
    "ReadContext",
    "ReadOption",
    "Readable",
    "Reader",
    "Receiving",
    "Reception",
    "Role",
    "Sink",
    "SinkOption",
    "Source",
    "SourceOption",
    "Staged",
    "StagedRows",
    "Table",
    "Upserting",
    "WriteContext",
    "WriteMode",
    "Writer",
    "json_text",
    "reach",
    "require_open",
]
