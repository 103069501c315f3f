"""`advisor cache`: what is kept of large traces so that they open at once the next time."""

from __future__ import annotations

import click

from analyzer.cli.streams.closed import confirm


@click.command("cache", short_help="Say what is kept of large traces, or remove it.")
@click.argument("action", type=click.Choice(["show", "clear"]), default="show", metavar="[clear]")
def command(action: str) -> None:
    """Say what is kept of large traces, or remove it.

    Of a trace of 50 MB or more the answer is kept, and of a sound one its columns, under XDG_CACHE_HOME or ~/.cache, 4 GB at
    most: the longest unused go first. They are used only for a file with the same digest, the answer only by the same version
    with the same options. `--no-cache` of other commands leaves them alone.
    """
    from traces.reader.cache import folder

    if action == "clear":
        files, size = folder.clear()
        confirm(f"removed {files} file{'' if files == 1 else 's'}, {size / 1e6:.0f} MB, from {folder.folder()}")
        return
    kept = folder.entries()
    size = sum(folder.sizes(kept))
    traces = folder.traces_of(kept)
    click.echo(f"{traces} trace{'' if traces == 1 else 's'}, {size / 1e6:.0f} MB, in {folder.folder()}")
