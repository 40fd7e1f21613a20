"""Find a message in a `.proto` file or a descriptor set, with Google's compiler and library.

The descriptors of a file are kept until the file or one of its imports changes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headrace.errors import SchemaError, did_you_mean

_INSTALL = "pip install 'headrace[protobuf]'"


@dataclass(frozen=True)
class _Loaded:
    """The messages of a file by full name, those it declares itself, and the files that they depend on."""

    messages: dict[str, Any]
    top_level: tuple[str, ...]
    versions: dict[Path, tuple[int, int]]

    @property
    def is_current(self) -> bool:
        return all(path.exists() and _version(path) == version for path, version in self.versions.items())


_LOADED: dict[Path, _Loaded] = {}


def find_message(file: str, name: str | None) -> Any:
    """Return the descriptor of a message; by default that of the only top-level message of the file.

    Raises:
        ValueError: the file is missing or invalid, or there is no such message.
    """
    loaded = _load(Path(file).absolute())
    if name is None:
        if len(loaded.top_level) != 1:
            known = ", ".join(loaded.top_level) or "no message"
            raise ValueError(f"set `message`: {file} has {known}")
        name = loaded.top_level[0]
    if name not in loaded.messages:
        raise ValueError(f"{file} has no message `{name}` ({did_you_mean(name, loaded.messages)})")
    return loaded.messages[name]


def index_of(message: Any) -> list[int]:
    """Return the index of a message in its file, preceded by those of the messages that contain it."""
    if message.containing_type is None:
        return [list(message.file.message_types_by_name).index(message.name)]
    siblings = [each.name for each in message.containing_type.nested_types]
    return [*index_of(message.containing_type), siblings.index(message.name)]


def read_source(file: str) -> str:
    """Return the text of a `.proto` file, for a schema registry.

    Raises:
        SchemaError: it is a descriptor set, or imports files that would have to be registered first.
    """
    path = Path(file).absolute()
    if path.suffix != ".proto":
        hint = "set `file` to a `.proto` file"
        raise SchemaError("a registry stores the text of a `.proto` file", where=file, hint=hint)
    imported = [each for each in _load(path).versions if each != path]
    if imported:
        what = f"the file imports {imported[0].name}, which a sink does not register"
        raise SchemaError(what, where=file, hint="put all messages of the sink into one file")
    return path.read_text("utf-8")


def _load(path: Path) -> _Loaded:
    loaded = _LOADED.get(path)
    if loaded is None or not loaded.is_current:
        if not path.is_file():
            raise ValueError(f"the file {path} does not exist")
        _require("google.protobuf", "protobuf")
        content = _compile(path) if path.suffix == ".proto" else path.read_bytes()
        loaded = _LOADED[path] = _read_set(path, content)
    return loaded


def _compile(path: Path) -> bytes:
    """Return the descriptor set of a `.proto` file and its imports."""
    _require("grpc_tools", "grpcio-tools")
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory, "messages.desc")
        options = [f"-I{path.parent}", "--include_imports", f"--descriptor_set_out={target}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", *options, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line and ": warning:" not in line]
            raise ValueError(f"protoc reports {'; '.join(lines) or f'no reason for {path}'}")
        return target.read_bytes()


def _read_set(path: Path, content: bytes) -> _Loaded:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError

    pool, messages = DescriptorPool(), {}
    try:
        files = FileDescriptorSet.FromString(content).file
        for file in files:
            pool.AddSerializedFile(file.SerializeToString())
    except DecodeError:
        what = f"{path} is not a descriptor set (protoc --descriptor_set_out --include_imports makes one)"
        raise ValueError(what) from None
    except TypeError as error:
        hint = "make it with protoc --include_imports"
        raise ValueError(f"{path} is not complete: {_reason(error)} ({hint})") from None
    for file in files:
        for message in pool.FindFileByName(file.name).message_types_by_name.values():
            messages.update(_with_nested(message))
    imported = {name for file in files for name in file.dependency}
    own = [file for file in files if file.name not in imported]
    top_level = tuple(
        message.full_name
        for file in own
        for message in pool.FindFileByName(file.name).message_types_by_name.values()
    )
    sources = [path, *(path.parent / file.name for file in files)]
    return _Loaded(messages, top_level, {each: _version(each) for each in sources if each.is_file()})


def _with_nested(message: Any) -> dict[str, Any]:
    """Return a message and those declared inside it, except the entries of maps."""
    if message.GetOptions().map_entry:
        return {}
    nested = [_with_nested(inner) for inner in message.nested_types]
    return {message.full_name: message} | {name: inner for each in nested for name, inner in each.items()}


def _reason(error: TypeError) -> str:
    return str(error).partition("descriptor pool: ")[2] or str(error)


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _require(package: str, distribution: str) -> None:
    try:
        missing = find_spec(package) is None
    except ModuleNotFoundError:  # the parent package is missing
        missing = True
    if missing:
        raise ValueError(f"the package `{distribution}` is not installed ({_INSTALL})")
