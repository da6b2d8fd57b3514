"""`helio timeline export`: the timeline for other programs, in a file or to a receiver, each run a row of its own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.command import ExampleCommand, examples
from node.cli.connection import on_node
from node.cli.console import Console, Json, document, plain, print_document
from node.cli.export_sinks import Choices, sink_of
from node.cli.options import json_option
from node.cli.text import one_line, plural
from node.cli.timeline_options import filter_of, filter_options, with_ids
from node.cli.transfer_command import size_words
from node.core.catalogue.languages import chosen
from node.core.errors import ErrorCode, MeshError
from node.core.export_manifest import Manifest
from node.core.export_record import Format
from node.core.timeline_filter import RowFilter

if TYPE_CHECKING:
    from node.export_run import Run, Wish
    from node.local_client import LocalClient
_EVERY_ROWS = 500
_file = click.Path(path_type=Path, dir_okay=False)


@examples(
    "helio timeline export --format jsonl -o rows.jsonl",
    "helio timeline export --format csv --bom --since 30d -o march.csv",
    "helio timeline export --format ocsf --decision withheld -o - | jq .message",
    "helio timeline export --format syslog --to siem.example.org --ca our-ca.pem --from-seq 12000",
    "helio timeline export --format otlp --endpoint https://otel.example.org --header-file headers",
    "helio timeline export --format parquet -o rows.parquet",
)
@click.command("export", cls=ExampleCommand)
@click.option(
    "--format", "form", required=True, type=click.Choice([one.value for one in Format]),
    help="jsonl holds the exact bytes of every row; csv is for spreadsheets; ocsf, syslog and otlp are for security "
    "tools; parquet is for analysis.",
)  # fmt: skip
@click.option(
    "-o", "--output", metavar="FILE|-", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="The file to write (jsonl, csv, ocsf, parquet), or - for standard output (not parquet).",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE and its manifest.")
@click.option("--to", metavar="HOST[:PORT]", help="The syslog receiver, over TLS  [default port: 6514]")
@click.option("--endpoint", metavar="URL", help="The OTLP receiver, such as https://otel.example.org:4318.")
@click.option("--ca", type=_file, metavar="FILE", help="Trust the certificate authorities in FILE, not the system's.")
@click.option("--cert", type=_file, metavar="FILE", help="Show the receiver the certificate in FILE, with its key.")
@click.option(
    "--header-file", type=_file, metavar="FILE",
    help="Send the OTLP receiver the headers in FILE, a line each: `Authorization: Bearer ...`.",
)  # fmt: skip
@click.option(
    "--manifest", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the manifest to FILE  [default: beside the file of -o, its name with .manifest.json]",
)  # fmt: skip
@click.option("--bom", is_flag=True, help="Begin a CSV file with a byte order mark, which Excel wants for UTF-8.")
@click.option(
    "--ocsf-version", type=click.Choice(["1.9", "1.8"]), default="1.9", show_default=True,
    help="The version of the OCSF schema; in 1.8 agents and delegations are unmapped.",
)  # fmt: skip
@click.option(
    "--enterprise", type=click.IntRange(1, 2**32 - 1), metavar="NUMBER",
    help="Your own enterprise number for syslog's structured data  [default: 32473, of documentation]",
)  # fmt: skip
@filter_options(least_before=1, limit=".")
@json_option
def export_command(
    *,
    form: str,
    output: Path | None,
    force: bool,
    to: str | None,
    endpoint: str | None,
    ca: Path | None,
    cert: Path | None,
    header_file: Path | None,
    manifest: Path | None,
    bom: bool,
    ocsf_version: str,
    enterprise: int | None,
    from_seq: int | None,
    before: int | None,
    limit: int | None,
    in_json: bool,
    **given: str | None,
) -> None:
    """Export the timeline: to a file, to a syslog receiver over TLS, or to an OpenTelemetry receiver.

    A manifest tells which rows an export holds, its SHA-256, and what ties it to the log: the log's root, the last
    signed checkpoint, and a proof of the last row. The export is noted in the timeline itself, before its first byte
    leaves. A file has its name only once it is whole: cancelled by Ctrl-C, nothing is left of it.

    CSV, OCSF and Parquet hold every row's exact bytes, too. Syslog confirms nothing: what arrived, only the receiver
    can say.
    """
    wanted = filter_of(given, chosen(None, os.environ), from_seq=from_seq, before=before, limit=limit)
    choices = Choices(
        format=Format(form), output=output, force=force, to=to, endpoint=endpoint, ca=ca, cert=cert,
        header_file=header_file, manifest=manifest, bom=bom, ocsf=ocsf_version, enterprise=enterprise,
    )  # fmt: skip
    _Export(choices=choices, wanted=wanted, in_json=in_json).go()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Export:
    """One call of the command."""

    choices: Choices
    wanted: RowFilter
    in_json: bool

    def go(self) -> None:
        """Runs it and says what came of it."""
        from node.export_run import Run

        console = Console.of_streams()
        sink = sink_of(self.choices)
        run: Run | None = None

        async def play(node: LocalClient) -> Manifest:
            nonlocal run
            run = Run(_wish(self.choices, await with_ids(node, self.wanted)), sink)
            return await run.play(node, lambda now: _show(now, line.show))

        try:
            with console.progress() as line, _ended_as_by_a_person():
                made = on_node(play)
        except KeyboardInterrupt:
            console.note(_cancelled(run, self.choices))
            raise
        except MeshError as error:
            if run is not None and run.export:
                raise MeshError(error.code, error.message, {**error.details, "export": run.export}) from error
            raise
        self._say(made, console, sink.warnings)
        if made.proven is False:
            raise MeshError(
                ErrorCode.TAMPERED,
                f"The export is whole, but row {made.tally.last} of it is not the row that the log's root stands for: "
                "somebody changed this timeline. Keep the export and a copy of the node's folder as they are, and run "
                "`helio timeline verify`.",
                {"seq": made.tally.last or 0, "export": made.export},
            )

    def _say(self, made: Manifest, console: Console, warnings: Sequence[str]) -> None:
        for warning in warnings:
            console.note(f"note: the receiver says: {one_line(warning)}")
        for doubt in _doubts(made):
            console.note(f"note: {doubt}")
        if self.in_json:
            told: dict[str, Json] = {**made.document(), "destination": self.choices.destination}
            told["manifest_file"] = plain(self.choices.manifest_path)
            if self.choices.to_stdout:
                console.note(document(told))
            else:
                print_document(told)
            return
        tally = made.tally
        stretch = f" (#{tally.first} to #{tally.last})" if tally.count else ""
        line = f"Exported {plural(tally.count, 'row')}{stretch} as {made.format.value} to "
        line += f"{one_line(self.choices.destination)}, {size_words(tally.bytes)}."
        say = console.note if self.choices.to_stdout else console.say
        say(line)
        if self.choices.manifest_path is not None:
            say(f"  manifest  {one_line(str(self.choices.manifest_path))}")
        say(f"  sha256    {tally.sha256}")
        if made.format is Format.SYSLOG:
            say("Syslog confirms nothing: that all of it was handed over does not say that it was kept.")


def _wish(choices: Choices, wanted: RowFilter) -> Wish:
    from node.export_run import Wish
    from node.version import SOFTWARE

    given = {one.name: value for one in fields(wanted) if (value := getattr(wanted, one.name)) != one.default}
    return Wish(
        format=choices.format,
        wanted=wanted,
        destination=choices.destination,
        file=choices.file_name,
        words=" ".join(f"{name}={value}" for name, value in given.items()),
        now_us=lambda: time.time_ns() // 1000,
        software=SOFTWARE,
        filter=given,
        options=choices.told,
    )


def _show(run: Run, show: Callable[[str], None]) -> None:
    if run.tally.count % _EVERY_ROWS and run.tally.count != 1:
        return
    show(f"exporting: {plural(run.tally.count, 'row')} ({run.per_cent} %), {size_words(run.written)}")


def _cancelled(run: Run | None, choices: Choices) -> str:
    """What is to be said of an export that somebody ended."""
    if run is None or not run.export:
        return "helio: cancelled before anything was exported."
    count = plural(run.tally.count, "row")
    if choices.file_name is not None:
        return f"helio: cancelled after {count}; nothing is kept of them, and the timeline says so."
    return f"helio: cancelled; {count} or fewer were handed over, and the timeline says so."


def _doubts(made: Manifest) -> Iterator[str]:
    """What a person should know of the rows that were exported."""
    tally = made.tally
    if tally.damaged:
        yield f"{plural(tally.damaged, 'row')} of these are not what their hashes stand for: helio timeline verify"
    if tally.contiguous is False:
        yield "rows are missing between the first and the last of these: helio timeline verify"
    if tally.count and made.proof is None:
        yield "the log no longer has what proves the last of these rows: helio timeline verify"


@contextmanager
def _ended_as_by_a_person() -> Iterator[None]:
    """Being told to end, or losing the terminal, cancels the export as Ctrl-C does, within the block."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in kept:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number, before in kept.items():
            signal.signal(number, before)
