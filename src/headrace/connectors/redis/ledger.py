"""The ledger of a Redis sink: a key with the newest entry, written atomically with the rows.

    headrace:ledger:<pipeline>:<sink>     {"number": 12, "token": 3, "epochs": {"<checkpoint id>": 41}}

A script on the server compares the stored entry, checks the types of all keys, runs the commands and stores
the new entry. MULTI would not do: if one of its commands fails, Redis still runs the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.failpoints import reach
from headrace.connectors.ledger import LedgerEntry

Command = tuple[Any, ...]
"""A command and its arguments; the first is the key."""

_COMMIT = """
local stored = redis.call('GET', KEYS[1]) or ''
if stored ~= ARGV[1] then return 0 end
local kinds = {XADD = 'stream', DEL = 'hash', HSET = 'hash', ZADD = 'zset', ZREM = 'zset'}
local commands, at = {}, 3
while at <= #ARGV do
  local command, last = {}, at + tonumber(ARGV[at])
  for i = at + 1, last do command[#command + 1] = ARGV[i] end
  commands[#commands + 1] = command
  at = last + 1
  local wanted = kinds[command[1]]
  local kind = wanted and redis.call('TYPE', command[2]).ok
  if wanted and kind ~= 'none' and kind ~= wanted then
    return redis.error_reply('WRONGTYPE `' .. command[2] .. '` is a ' .. kind .. ', expected a ' .. wanted)
  end
end
for _, command in ipairs(commands) do redis.call(unpack(command)) end
redis.call('SET', KEYS[1], ARGV[2])
return 1
"""


@dataclass
class LedgerKey:
    """Stores the entries of one sink."""

    name: str
    client: Callable[[], Any]
    commands: Sequence[Command] = field(default_factory=tuple)
    """The commands of the epoch that is committed next."""

    def read(self) -> LedgerEntry:
        return _decode(self.client().get(self.name))

    def take_over(self, entry: LedgerEntry) -> bool:
        return self._write(entry, (), lambda newest: newest.number == entry.number - 1)

    def commit(self, entry: LedgerEntry) -> bool:
        return self._write(entry, self.commands, lambda newest: newest.token == entry.token)

    def _write(
        self, entry: LedgerEntry, commands: Sequence[Command], valid: Callable[[LedgerEntry], bool]
    ) -> bool:
        """Run commands and store the entry; return False if the stored entry is not valid, or has changed."""
        content = self.client().get(self.name)
        if not valid(_decode(content)):
            return False
        reach("redis.read")
        arguments = [part for command in commands for part in (len(command), *command)]
        script = self.client().register_script(_COMMIT)
        return bool(script(keys=[self.name], args=[content or b"", entry.encode(), *arguments]))


def _decode(content: bytes | None) -> LedgerEntry:
    return LedgerEntry() if content is None else LedgerEntry.decode(content)
