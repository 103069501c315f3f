"""Traces elsewhere: a URL is fetched to a file beside the worker, read, and taken away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from traces.errors import UnreadableTraceError, UsageError
from traces.leftovers import scratch_folder
from traces.patterns import Pattern
from traces.progress import Progress

_URL = Pattern(r"[A-Za-z][A-Za-z0-9+.\-]+://")
_ENDINGS = (".json", ".json.gz", ".json.zst")
_PIECE = 4 << 20
# What fsspec needs beside it for what is read most.
_NEEDED = {"http": "aiohttp", "https": "aiohttp", "s3": "s3fs", "gs": "gcsfs"}


def is_url(place: str) -> bool:
    """Whether a place is no path here."""
    return _URL.match(place) is not None


def without_secrets(url: str) -> str:
    """A URL that can be printed: no user, no password, no query, which may be signed."""
    parts = _parts(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        scheme, _, rest = url.partition("://")
        shown = rest.rpartition("@")[2].partition("?")[0]
        raise UsageError("this is no URL", where=f"{scheme}://{shown}", why=str(error)) from error


def name_of(place: str) -> str:
    """The name of a file, without folders."""
    return PurePosixPath(_parts(place).path).name if is_url(place) else Path(place).name


@contextmanager
def fetched(place: str, progress: Progress | None = None) -> Iterator[Path]:
    """A file here with what a place holds; of a path itself, of a URL a copy that is gone afterwards.

    Args:
        place: Path or URL.
        progress: Told how many bytes are here; raise from it to cancel.

    Raises:
        UnreadableTraceError: What is there is missing, forbidden or cannot be reached.
        UsageError: fsspec, or what it needs for such URLs, is not installed.
    """
    if not is_url(place):
        yield Path(place)
        return
    filesystem, path = _opened(place)
    with scratch_folder() as folder:
        copy = folder / (name_of(place) or "trace.json")
        with _told(place), filesystem.open(path, "rb") as source, copy.open("wb") as target:
            while piece := source.read(_PIECE):
                target.write(piece)
                if progress is not None:
                    progress("fetching", target.tell(), getattr(source, "size", None) or 0)
        yield copy


def listed(place: str) -> Sequence[str]:
    """The traces in a folder of a URL, or the URL itself where it is a file.

    Raises:
        UnreadableTraceError: As for `fetched`.
        UsageError: As for `fetched`.
    """
    if name_of(place).endswith(_ENDINGS):
        return (place,)
    filesystem, path = _opened(place)
    with _told(place):
        found = filesystem.ls(path, detail=False)
    scheme = place.split("://", 1)[0]
    names = sorted(str(one) for one in found if str(one).endswith(_ENDINGS))
    if not names:
        raise UsageError(
            f"{name_of(place) or without_secrets(place)} holds no trace",
            where=without_secrets(place),
            fix="name a file that ends in .json, .json.gz or .json.zst, or a folder with such files in it",
        )
    return tuple(name if is_url(name) else f"{scheme}://{name}" for name in names)


def _opened(place: str) -> tuple[Any, str]:
    shown, scheme = without_secrets(place), place.split(":", 1)[0]
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise UsageError("fsspec is not installed", where=shown, fix="pip install fsspec aiohttp") from error
    # Some stores connect here already.
    with _told(place):
        try:
            filesystem, path = fsspec.core.url_to_fs(place)
        except ImportError as error:
            # Each kind of store has a package of its own, which fsspec names.
            raise _lacking(scheme, shown, error) from error
        # One that wants to know more than a URL tells says so in its own way.
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(
                f"nothing is known of {scheme}:// URLs", where=shown, fix="use s3, gs, https or hf"
            ) from error
    return filesystem, str(path)


def _lacking(scheme: str, shown: str, error: ImportError) -> UsageError:
    what = f"what fsspec needs for {scheme}:// URLs is not installed"
    needed = _NEEDED.get(scheme)
    if needed is None:
        return UsageError(what, where=shown, fix=str(error))
    return UsageError(what, where=shown, why=str(error), fix=f"pip install {needed}")


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Whatever a library of storage raises, as an error that names the place and no secret."""
    shown = without_secrets(place)
    try:
        yield
    except FileNotFoundError as error:
        # fsspec says this of whatever a server refuses; what it answered stands behind it.
        if _status(error) in _FORBIDDEN:
            raise _forbidden(shown) from error
        if isinstance(error.__cause__, OSError) and _status(error) is None:
            raise _unreachable(shown, error.__cause__) from error
        raise UnreadableTraceError("there is no such file", where=shown, fix="check the URL") from error
    except PermissionError as error:
        raise _forbidden(shown) from error
    # Each store raises errors of its own, whose texts may hold signed URLs.
    except _errors_of_stores() as error:
        raise UnreadableTraceError(
            "it cannot be fetched",
            where=shown,
            why=_kind(error),
            fix="check the URL and who may read it, or fetch it by its own program and name the file",
        ) from error


# What the clients of stores raise that is none of Python's own errors, by the module that has its class.
_OF_STORES = {
    "aiohttp": ("ClientError",),
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "gcsfs.retry": ("HttpError",),
    "google.auth.exceptions": ("GoogleAuthError",),
    "httpx": ("HTTPError", "InvalidURL"),
}


def _errors_of_stores() -> tuple[type[Exception], ...]:
    """Python's own, and the classes of those clients that are loaded: what is not loaded raised nothing."""
    loaded = ((sys.modules[module], names) for module, names in _OF_STORES.items() if module in sys.modules)
    theirs = (getattr(module, name, None) for module, names in loaded for name in names)
    return (OSError, ValueError, RuntimeError, *(one for one in theirs if one is not None))


_FORBIDDEN = (401, 403)


def _forbidden(shown: str) -> UnreadableTraceError:
    return UnreadableTraceError(
        "access is forbidden", where=shown, why="the credentials of this machine do not allow it", fix="log in there"
    )


def _unreachable(shown: str, error: OSError) -> UnreadableTraceError:
    """No server answered; the system says why in the innermost error."""
    inner: BaseException = error
    while isinstance(further := inner.__cause__ or inner.__context__, OSError):
        inner = further
    return UnreadableTraceError(
        "the server cannot be reached",
        where=shown,
        why=os.strerror(number) if (number := getattr(inner, "errno", None) or 0) > 0 else str(inner),
        fix="check the host's name, the network and the proxy",
    )


def _status(error: BaseException | None) -> int | None:
    """The status that a server answered with, from the error or what it came from; None where there is none."""
    while error is not None:
        status = getattr(error, "status", None)
        if isinstance(status, int):
            return status
        error = error.__cause__ or error.__context__
    return None


def _kind(error: Exception) -> str:
    status = _status(error)
    return type(error).__name__ + (f", status {status}" if status is not None else "")
