"""Paths relative to the project: the rest of a path names people, machines and customers."""

from __future__ import annotations

import re

import msgspec

from traces.patterns import Pattern

REMOVED = "[redacted]"

_PART = r"[^\s/\\'\"`<>|:;,()\[\]{}]+"
# A drive or a share of Windows, or anything from a slash on that has two parts; never the middle of `ms/step` or of an URL.
_PATH = Pattern(
    rf"(?<![\w~/])(?P<dots>\.\.?|~[\w.-]*)?(?:/+(?:{_PART}/+)+(?:{_PART})?)"
    rf"|(?<![\w~/])~[\w.-]*/(?:{_PART})?"
    rf"|(?<![\w])(?:\\{{2,4}}[?.]\\{{1,2}})?[A-Za-z]:[\\/]+(?:{_PART}[\\/]+)*(?:{_PART})?"
    rf"|\\\\{_PART}(?:\\+{_PART})+"
    rf"|(?<![\w.\\/])(?:\.\.\\+){{1,30}}(?:{_PART}\\+)+{_PART}"
)
_FILE_URL = Pattern(r"\bfile://[\w.-]*(?=/)")
_URL = Pattern(
    r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"`<>|]+"
    # As people write them, without a scheme; modules and folders are called so too where the last part is another.
    r"|(?<![\w+./@\\-])(?:(?:[A-Za-z0-9-]+\.)+(?:com|org|ai|cloud|jfrog\.io|[a-z]{2,6}:\d{2,5})|(?:docker|quay|ghcr|nvcr)\.io)/[^\s'\"`<>|]+"
)
_SCHEME = Pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PACKAGES = Pattern(r"(?:site|dist)-packages[\\/](.+)$")
_STANDARD_LIBRARY = Pattern(r"[\\/]lib[\\/]python[\d.]+[\\/](.+)$")
# Folders every Linux machine has: advice names them.
_SYSTEM = ("/dev/", "/proc/", "/sys/")
# Pages that rules refer to; any other address may be somebody's own.
_PUBLIC_HOSTS = (
    "pytorch.org", "nvidia.com", "python.org", "amd.com", "intel.com",
    "readthedocs.io", "readthedocs.org", "perfetto.dev", "vllm.ai", "arxiv.org", "docs.aws.amazon.com",
)  # fmt: skip
# There anybody has pages, which are told by their owner.
_OF_ANYBODY = ("github.com", "huggingface.co", "docker.io", "quay.io", "ghcr.io", "nvcr.io")
_PAGES_OF_ANYBODY = ".github.io"
_KNOWN_OWNERS = frozenset((
    "pytorch", "nvidia", "rocm", "huggingface", "docs", "openxla", "deepspeedai", "microsoft", "bytedance", "linkedin", "intel",
    "bitsandbytes-foundation", "johnsmith0031", "m87-labs", "triton-lang", "vllm-project", "lightning-ai", "dao-ailab",
    "facebookresearch", "google", "tensorflow", "python", "numpy", "library",
))  # fmt: skip
# Names so common that hiding them would only break words.
_COMMON_NAMES = (
    " root user users admin ubuntu runner docker jupyter home work data train model test main localhost local torch python "
    "cuda host node nvidia default build code project advisor loader "
)


class Project(msgspec.Struct, frozen=True):
    """Where the user's code lies, and what must not be told of this machine.

    Args:
        roots: Folders that paths are shown relative to, the first that fits.
        names: Of the user and of the machine.
    """

    roots: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def with_root(self, root: str | None) -> Project:
        """The same with one more root, unless it is too high up to be a project."""
        if root is None or root.rstrip("/").count("/") < 2:
            return self
        return msgspec.structs.replace(self, roots=(*self.roots, root))

    def shown(self, path: str) -> str:
        """`src/train.py` for a file of the project, `torch/nn/linear.py` for a package's, `…/other.py` for any other."""
        plain = path.replace("\\", "/")
        if plain.startswith(_SYSTEM):
            return path
        packaged = inside_packages(plain)
        if packaged:
            return packaged
        for root in self.roots:
            folder = root.replace("\\", "/").rstrip("/") + "/"
            if plain.startswith(folder) and ".." not in plain.split("/"):
                return plain[len(folder) :] or "."
        last = plain.rstrip("/").rpartition("/")[2]
        return f"…/{last}" if "." in last.strip(".") else "…"

    def without_names(self, text: str) -> str:
        """The text without the user's and the machine's name where they stand as words."""
        for name in self.names:
            if len(name) >= 4 and f" {name.lower()} " not in _COMMON_NAMES:
                text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", REMOVED, text)
        return text


def is_absolute(path: str) -> bool:
    """Whether a path begins at a root of Linux, macOS or Windows, or at somebody's home."""
    return path.startswith(("/", "~", "\\\\")) or re.match(r"[A-Za-z]:[\\/]", path) is not None


def inside_packages(path: str) -> str | None:
    """The part of a path below an installed package's folder or the standard library; None for anything else."""
    match = _PACKAGES.search(path) or _STANDARD_LIBRARY.search(path)
    return match.group(1).replace("\\", "/") if match else None


def relative(text: str, project: Project) -> str:
    """The text with every path in it shown as `Project.shown` does, and no address of anybody's own server."""
    if "/" not in text and "\\" not in text:
        return text
    text = _FILE_URL.sub("", text)
    pieces: list[str] = []
    start = 0
    for match in _URL.finditer(text):
        pieces += [_paths(text[start : match.start()], project), _address(match.group())]
        start = match.end()
    return "".join([*pieces, _paths(text[start:], project)])


def _paths(text: str, project: Project) -> str:
    def shown(match: re.Match[str]) -> str:
        return match.group() if match.group("dots") == "." else project.shown(match.group())

    return _PATH.sub(shown, text)


def _address(url: str) -> str:
    before, sign, rest = url.partition("://") if _SCHEME.match(url) else ("", "", url)
    host, _, path = rest.partition("/")
    if _is_public(host.lower(), path):
        return url.partition("?")[0]
    return f"{before}{sign}{REMOVED}"


def _is_public(host: str, path: str) -> bool:
    if host in _OF_ANYBODY:
        return re.split(r"[/?#]", path)[0].lower() in _KNOWN_OWNERS
    if host.endswith(_PAGES_OF_ANYBODY):
        return host.removesuffix(_PAGES_OF_ANYBODY) in _KNOWN_OWNERS
    return any(host == public or host.endswith(f".{public}") for public in _PUBLIC_HOSTS)
