"""The prompt of the shell: editing over several lines, completion, and a history on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings

from headrace.cli.shell.completion import complete
from headrace.cli.shell.session import Session, is_complete
from headrace.cli.shell.shell import Quit, Shell
from headrace.cli.terminal.output import print_message

if TYPE_CHECKING:
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent

HISTORY_VARIABLE = "HEADRACE_SQL_HISTORY"
PROMPT, CONTINUED = "sql> ", "...> "


def history_file() -> Path:
    """Return the file of the history, which only its user can read: statements can have passwords."""
    if path := os.environ.get(HISTORY_VARIABLE):
        file = Path(path).expanduser()
    else:
        base = os.environ.get("XDG_STATE_HOME")
        file = (Path(base) if base else Path.home() / ".local" / "state") / "headrace" / "sql_history"
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
    file.chmod(0o600)
    return file


def interact(shell: Shell) -> None:
    r"""Read statements from the terminal and execute them until `\quit` or Ctrl-D."""
    prompt: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        key_bindings=_keys(),
        history=FileHistory(str(history_file())),
        auto_suggest=AutoSuggestFromHistory(),
        completer=SessionCompleter(shell.session),
        complete_while_typing=False,
    )
    print_message("Statements end with a semicolon; \\help lists them.")
    while True:
        try:
            text = prompt.prompt()
        except KeyboardInterrupt:  # clears the input
            continue
        except EOFError:
            return
        if not text.strip():
            continue
        try:
            shell.attempt(text)
        except KeyboardInterrupt:
            print_message("stopped", "warn")
        except Quit:
            return


class SessionCompleter(Completer):
    """Completes with the names of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        word, candidates = complete(document.text_before_cursor, self._session)
        for each in candidates:
            yield Completion(each, start_position=-len(word))


def _keys() -> KeyBindings:
    """Return the keys: Enter executes a complete statement, otherwise it begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return keys
