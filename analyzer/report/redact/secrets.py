"""Strings that look like a key, a password or somebody's address."""

from __future__ import annotations

import itertools
import re

from analyzer.report.redact.paths import REMOVED

_SECRET_WORD = r"(?:token|secret|passwd|password|passphrase|(?:api|access|private|account)[_-]?key|credentials?)"
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s'\"&,;)]+)"
# Name and value, the name kept: `HF_TOKEN=...`, `--api-key ...`, `password: ...`, and who and where somebody is.
_NAMED = (
    re.compile(rf"(?i)(?<![\w-])((?:[\w-]*[_-])?{_SECRET_WORD}\s*[=:]\s*){_VALUE}"),
    re.compile(rf"(?i)((?<![\w-])--?(?:[\w-]*-)?{_SECRET_WORD}\s+){_VALUE}"),
    re.compile(rf"(?<!\w)([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?)[A-Z0-9_]*=){_VALUE}"),
    re.compile(rf"(?<!\w)((?:USER|USERNAME|LOGNAME|HOST|HOSTNAME|HOME|PWD|SSH_\w+)=){_VALUE}"),
    re.compile(r"(?i)\b((?:bearer|authorization:\s*basic)\s+)[\w.~+/=-]{8,}"),
    # The signature that opens a file in a cloud.
    re.compile(r"(?<!\w)(sig=)[\w%+/=-]{16,}"),
)
# Shapes that need no name, by who issues them.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{16,}|"  # GitHub, GitLab, Hugging Face
    r"sk-[\w-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|"  # model and payment services
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|"  # AWS, Google
    r"xox[abeprs]-[\w-]{10,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dapi[0-9a-f]{24,}|"  # Slack, npm, PyPI, Databricks
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|"  # JSON web token
    r"[0-9a-fA-F]{40,}"  # keys in hexadecimal
    r")(?![A-Za-z0-9])"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL)
# Somebody's address, or somebody on a machine, as scp writes it.
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:(?:\.[\w-]+)+|(?=:))")
# Four numbers may be a version: they are an address with a port, or in a range that only private networks use.
_ADDRESS = re.compile(
    r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}(?=:\d)"
    r"|(?:10\.\d{1,3}|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?![\w.]))"
    r"|(?<![\w:])(?:fe80|f[cd][0-9a-fA-F]{2})(?::[0-9a-fA-F]{0,4}){2,7}"
)
# Machines by names that nothing else has: of private networks and clouds, where modules of Python have no digits or dashes, and as
# Windows and AWS give them unasked.
_MACHINE = re.compile(
    r"(?<![\w.-])(?:(?=[a-z.]*[\d-])(?:[A-Za-z0-9-]+\.)+(?:internal|corp|lan|intranet|localdomain|cluster\.local|amazonaws\.com)"
    r"|(?:[A-Za-z0-9-]+\.)+corp(?:\.[A-Za-z0-9-]+)+"
    r"|(?=[a-z0-9]*[0-9-])[A-Za-z0-9-]+\.local"
    r"|(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{7,}|ip(?:-\d{1,3}){4})(?![\w-]|\.\w)"
)
# A word of mixed letters and digits that stands alone. Mangled C++ names hold underscores, so they are no such word.
_RANDOM = re.compile(r"(?<![\w/+=-])[A-Za-z0-9+/]{32,}={0,2}(?![\w/+-])")


def without_secrets(text: str) -> str:
    """The text with every secret replaced by `[redacted]`, its name kept where it has one."""
    for pattern in _NAMED:
        text = pattern.sub(lambda match: match.group(1) + REMOVED, text)
    for shape in (_PEM, _SHAPES, _MAIL, _ADDRESS, _MACHINE):
        text = shape.sub(REMOVED, text)
    return _RANDOM.sub(lambda match: REMOVED if _is_random(match.group()) else match.group(), text)


def _is_random(word: str) -> bool:
    """Whether capitals, small letters and digits alternate as no word of a language does."""
    if not (any(c.islower() for c in word) and any(c.isupper() for c in word)):
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in word]
    changes = sum(left != right for left, right in itertools.pairwise(kinds))
    return kinds.count("d") >= 3 and changes >= len(word) * 0.4
