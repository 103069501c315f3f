"""What a file is by its content, and for everything that is no trace: the tool that reads it."""

from __future__ import annotations

from traces.errors import UnreadableTraceError
from traces.patterns import Pattern
from traces.reader.input.own import own_document

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BZIP2 = b"BZh"
XZ = b"\xfd7zXZ\x00"
# As much of the beginning as `refuse_other_formats` looks at.
HEAD_BYTES = 512
# As much of a list as `refuse_other_lists` looks at.
LIST_HEAD_BYTES = 64 << 10

_PICKLE = (
    "a pickle, as torch.save and memory snapshots are",
    "export the trace with `prof.export_chrome_trace`; a memory snapshot of your own opens at https://pytorch.org/memory_viz",
)
# Such a report has no ops, of which the advice is made.
_RECORDED = "for advice record the run with `advisor collect` or torch.profiler"
_HTML = ("an HTML page", "download the raw file instead of the page that shows it")
_NSYS = ("an Nsight Systems report", f"open it with `nsys stats` or the Nsight Systems window; {_RECORDED}")
_ARCHIVE = "unpack it and give the trace inside, or one file per rank"

# First bytes (lower case) of files that people give by mistake: what they are, and what reads them.
_MAGIC: tuple[tuple[bytes, tuple[str, str]], ...] = (
    (b"version https://git-lfs", ("a Git LFS pointer, not the file itself", "run `git lfs pull` and try again")),
    (b"<!doctype", _HTML),
    (b"<html", _HTML),
    (b"<head", _HTML),
    (b"<?xml", ("an XML document", "download the raw trace instead of what the server answered")),
    (b"sqlite format 3", ("an SQLite database, as Nsight Systems exports", f"open it with `nsys stats`; {_RECORDED}")),
    (b"nvidia nsight", _NSYS),
    (b"qdstrm", _NSYS),
    (b"nvr\x00", ("an Nsight Compute report", f"open it with `ncu --import`; {_RECORDED}")),
    (b"pk\x03\x04", ("a zip archive (torch.save also writes these)", _ARCHIVE)),
    (b"7z\xbc\xaf\x27\x1c", ("a 7z archive", _ARCHIVE)),
    (b"rar!", ("a rar archive", _ARCHIVE)),
    (b"par1", ("a Parquet file", "give the trace it was made from")),
    (b"\x7felf", ("a program", "give the trace it wrote")),
    (b"%pdf", ("a PDF document", "give the trace itself")),
    (b"\x89png", ("a picture", "give the trace itself")),
    (b"\x80\x02", _PICKLE),
    (b"\x80\x03", _PICKLE),
    (b"\x80\x04", _PICKLE),
    (b"\x80\x05", _PICKLE),
)

# An object with no other inside, and the keys of which each event has one.
_FLAT = Pattern(rb'\{\s*"[^{}]*\}')
_OF_EVENT = Pattern(rb'"(?:ph|ts)"\s*:')
_EVENTS = Pattern(rb'"traceEvents"\s*:\s*\[')
_XPLANE = (
    "an XPlane protobuf, as JAX and TensorFlow write",
    "open it with XProf or TensorBoard (`pip install xprof`); advisor reads traces of torch.profiler",
)
_PERFETTO = ("a Perfetto protobuf trace", "open it at https://ui.perfetto.dev; advisor reads Chrome trace JSON")
# Names decide only for binary content that says nothing of itself.
_ENDINGS: tuple[tuple[str, tuple[str, str]], ...] = (
    (".nsys-rep", _NSYS),
    (".qdrep", _NSYS),
    (".ncu-rep", ("an Nsight Compute report", f"open it with `ncu --import`; {_RECORDED}")),
    (".xplane.pb", _XPLANE),
    (".pftrace", _PERFETTO),
    (".perfetto-trace", _PERFETTO),
    (".pt", _PICKLE),
    (".prof", ("a cProfile file", "open it with `python -m pstats`")),
)

# Frames with semicolons between, then a number; `prof.export_stacks` writes it.
_FOLDED = Pattern(rb"\A[^\n{}\[\]]*[^\n;{}\[\]];[^\n{}\[\]]* \d+\r?\n")
_PYTHON = ("Python's notation of a trace, not JSON", "write it with `json.dump`, not with `print` or `str`")
# Keys of JSON that is no trace, near its beginning.
_OTHER_JSON: tuple[tuple[Pattern[bytes], tuple[str, str]], ...] = (
    (Pattern(rb"\A\{\s*'"), _PYTHON),
    (
        Pattern(rb'\A\{[^{}\[\]]*"ph"\s*:'),
        ("a list of events without brackets, as `jq -c .traceEvents[]` writes", "put them into one list: `jq -s .`"),
    ),
    (
        Pattern(rb'"\$schema"\s*:\s*"https://www\.speedscope\.app'),
        ("a speedscope profile", "open it at https://www.speedscope.app"),
    ),
    (
        Pattern(rb'\A\{\s*"Type"\s*:\s*\d+\s*,|"(?:CudaEvent|TraceProcessEvent)"\s*:'),
        ("the JSON that Nsight Systems exports", f"open the report it was made from with `nsys stats`; {_RECORDED}"),
    ),
    (
        Pattern(rb'"root_frame"\s*:\s*\{'),
        ("a profile of pyinstrument", "open it with `pyinstrument --load`, or as HTML in a browser"),
    ),
    (
        Pattern(rb'"(?:growth_rate|elapsed_time_sec|max_footprint_mb)"\s*:'),
        ("a profile of Scalene", "open it at https://plasma-umass.org/scalene-gui"),
    ),
    (
        Pattern(rb'"nodes"\s*:\s*\[\s*\{[^\]]*"callFrame"\s*:'),
        ("a CPU profile of Node.js or Chrome", "open it with Chrome's developer tools"),
    ),
    (
        Pattern(rb'"nodes"\s*:\s*\['),
        (
            "an execution trace (ExecutionTraceObserver), which holds no times",
            "give the profiler's trace of the same run",
        ),
    ),
    (
        Pattern(rb'"(?:message|error|detail)"\s*:'),
        ("an error message of a server", "download the file again, signed in"),
    ),
    (
        Pattern(rb'"(?:nodes|segments|device_traces)"\s*:'),
        ("a memory snapshot", "open it at https://pytorch.org/memory_viz"),
    ),
)


def refuse_other_formats(name: str, head: bytes) -> None:
    """Says what the file is where it cannot be a trace.

    Args:
        name: File name.
        head: Its first bytes, uncompressed.

    Raises:
        UnreadableTraceError: It is something known, or binary.
    """
    known = _compressed_again(head) or own_document(head) or _by_magic(head) or _by_binary(name.lower(), head)
    if known is not None:
        what, fix = known
        raise UnreadableTraceError(f"{name} is {what}", where="its first bytes", fix=fix)


def refuse_other_lists(name: str, head: bytes) -> None:
    """Says what a list is that cannot be one of events.

    Args:
        name: File name.
        head: Its beginning, bracket included.

    Raises:
        UnreadableTraceError: It is known to be something else.
    """
    first = head[1:].lstrip()
    inside = _EVENTS.search(first)
    if first.startswith(b"{'"):
        what, fix = _PYTHON
    elif inside and b'"ph"' not in first[: inside.start()]:
        what, fix = "a list of whole traces", "write each to a file of its own, the first with `jq '.[0]'`"
    elif _FLAT.match(first) and not _OF_EVENT.search(first):
        what, fix = "a list of other objects, not of a trace's events", "export it with prof.export_chrome_trace(...)"
    else:
        return
    raise UnreadableTraceError(f"{name} is {what}", where="its first bytes", fix=fix)


def is_folded(head: bytes) -> bool:
    """Whether a text holds stacks as flame graphs are drawn from, which say how much and not when."""
    return _FOLDED.search(head) is not None


def other_json(head: bytes) -> tuple[str, str] | None:
    """What JSON without events is, and what to do; None where it is unknown."""
    return next((answer for pattern, answer in _OTHER_JSON if pattern.search(head)), None)


def _compressed_again(head: bytes) -> tuple[str, str] | None:
    """What was compressed is text, unless it was compressed already: an upload, or a second `gzip`, does that."""
    if head.startswith((GZIP, ZSTD, BZIP2, XZ)):
        return (
            "compressed twice",
            "unpack it once: `gzip -dc < FILE > trace.json.gz`, or `xz`, `bzip2`, `zstd` instead of gzip",
        )
    return None


def is_xplane(head: bytes) -> bool:
    """Whether a protobuf is of JAX or TensorFlow, by the names of its first plane."""
    return b"/host:" in head or b"/device:" in head


def _by_magic(head: bytes) -> tuple[str, str] | None:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, answer in _MAGIC:
        if text.startswith(magic):
            return answer
    if head[257:262] == b"ustar":
        return "a tar archive", _ARCHIVE
    return None


def _by_binary(name: str, head: bytes) -> tuple[str, str] | None:
    """Protobuf and other binary content: JSON holds no zero bytes outside UTF-16, and begins with a bracket."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return None
    controls = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in head)
    if not controls:
        return None
    for ending, answer in _ENDINGS:
        if name.endswith(ending):
            return answer
    # A packet of Perfetto's begins with that byte too, and is read before anybody asks here.
    if head[:1] == b"\x0a" and is_xplane(head):
        return _XPLANE
    return "a binary file", "export the trace with `prof.export_chrome_trace`"
