"""`headrace jars`: download the Maven jars of connectors in advance, and store loaded classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import AsJson
from headrace.cli.terminal.output import print_message, show, show_json

if TYPE_CHECKING:
    from headrace.spark.jars import JarSet

jars = typer.Typer(
    help="Jars that some connectors need: list them, fetch them ahead of time; store loaded classes.",
    no_args_is_help=True,
)


def _names() -> list[str]:
    from headrace.spark.jars import jar_sets

    return sorted(jar_sets())


@jars.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Sets of jars, such as kafka.", autocompletion=_names),
    ],
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="A Maven repository to use instead of Maven Central.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Download sets of jars into the cache, for offline use or container images.

    Interrupted downloads resume, and every jar is verified by its SHA-256.

    For example:

    - `headrace jars fetch kafka`
    """
    from headrace.spark.download_progress import progress
    from headrace.spark.jars import fetch as fetched
    from headrace.spark.jars import jar_set

    for name in names:  # before anything is downloaded
        jar_set(name)
    with progress("jars") as watch:
        downloaded = {
            name: [str(path) for path in fetched(name, mirror=mirror, watch=watch)] for name in names
        }
    if json:
        show_json(downloaded)
    else:
        for path in (path for paths in downloaded.values() for path in paths):
            show(path)
        print_message(f"{', '.join(names)}: in the cache", "good")


@jars.command("list")
def list_(json: AsJson = False) -> None:
    """List the sets of jars and which of them are in the cache."""
    from headrace.spark.jars import jar_sets

    known = jar_sets().values()
    if json:
        show_json([_plain(chosen) for chosen in known])
        return
    for chosen in known:
        state = f"fetch it: headrace jars fetch {chosen.name}" if chosen.missing() else "in the cache"
        show(
            f"{chosen.name}: to {chosen.about} ({len(chosen.jars)} jars, {chosen.size / 1e6:.1f} MB; {state})"
        )


@jars.command()
def archive(json: AsJson = False) -> None:
    """Store the classes that Spark loads, so that pipelines start faster.

    Runs small pipelines for about a minute and writes a class archive of some 200 MB into the cache, unless
    it exists. Call it again after an upgrade of Java, Spark or Headrace.

    For example:

    - `headrace jars archive`
    """
    from headrace.devtools.class_archive import record_archive

    file = record_archive(report=print_message)
    size = file.stat().st_size
    if json:
        show_json({"file": str(file), "bytes": size})
    else:
        show(str(file))
        print_message(f"Spark starts with {size / 1e6:.0f} MB of stored classes", "good")


def _plain(chosen: JarSet) -> dict[str, Any]:
    return {
        "name": chosen.name,
        "about": chosen.about,
        "jars": [jar.maven for jar in chosen.jars],
        "bytes": chosen.size,
        "here": not chosen.missing(),
    }
