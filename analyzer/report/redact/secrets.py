"""Strings that look like a key, a password or somebody's address."""

from __future__ import annotations

import re

from analyzer.report.redact.dumps import CONNECTIONS, DUMPED
from analyzer.report.redact.paths import REMOVED
from analyzer.report.redact.phrases import PEOPLE, TOLD
from analyzer.report.redact.random_words import without_random
from analyzer.report.redact.secret_words import (
    BEFORE,
    BRACKETS,
    DIGITS,
    IN_LONGER_VARIABLE,
    IN_LONGER_WORD,
    IN_SECRET_BUT_TOKEN,
    IN_SECRET_WORD,
    IN_VARIABLE,
    QUOTES,
    SECRET_BUT_TOKEN,
    SECRET_WORD,
    VALUE,
)
from analyzer.report.redact.sought import Replacements, Sought
from traces.patterns import Pattern

# What may stand between a name and its value.
_SIGN = r"(?:[-=]{1,3}>|→|={1,3}|:=|!=|:)"
# Behind `token`, which prose and code name too: no call but one of a text, and no word of a sentence that goes on.
_TOKEN_SIGN = r"(?:=>|:=|=(?!=)|:(?!:))"
_NO_CODE = r"(?![A-Za-z_][\w.]*[\[(](?!\s*[\"']))"
_NO_PROSE = r"(?!(?<=\s)[a-z]+[,.;]?\s)"
# Name and value, the name kept: `HF_TOKEN=...`, `--api-key ...`, `password: ...`, and who and where somebody is.
_NAMED = (
    # The same as a dictionary writes it, in JSON or in Python, quotes escaped or not: `{"password": "..."}`, `{'HF_KEY': '...'}`.
    Sought(
        rf"(?i)(\\{{0,4}}[\"']{BEFORE}(?:{SECRET_WORD}|key|pass|auth|login|user|user_?name|host_?name|e-?mail|author)\\{{0,4}}[\"']\s*[:=]\s*)"
        rf"(?:{BRACKETS}|"
        r"\\{0,4}\"(?:[^\"\\]|\\[^\"])*\\{0,4}\"|\\{0,4}'(?:[^'\\]|\\[^'])*\\{0,4}'|[^\s,;}\])]+)",
        QUOTES,
        (*IN_SECRET_WORD, "pass", "auth", "login", "user", "name", "mail"),
        ("=", ":"),
    ),
    # A bar ends the line in YAML: the value stands on the next.
    Sought(
        rf"(?i)(?<![\w-])({BEFORE}{SECRET_BUT_TOKEN}(?:[_-]?hash)?\s*{_SIGN}\s*(?:[|>][+-]?\s+)?){VALUE}",
        IN_SECRET_BUT_TOKEN,
    ),
    Sought(
        rf"(?i)(?<![\w-])((?:[\w-]*[_-]|(?-i:\w*[a-z0-9](?=T)))token\s*{_TOKEN_SIGN}\s*(?:[|>][+-]?\s+)?){_NO_CODE}{VALUE}",
        ("token",),
        ("=", ":"),
    ),
    Sought(
        rf"(?i)(?<![\w-])(token\s*{_TOKEN_SIGN}\s*(?:[|>][+-]?\s+)?){_NO_CODE}{_NO_PROSE}{VALUE}",
        ("token",),
        ("=", ":"),
    ),
    # Pairs, as the items of a dictionary or of an environment are shown; a token alone is a word of a sentence.
    Sought(
        rf"(?i)([\"'](?:[\w-]+[_-](?:{SECRET_WORD}|key|pass|auth)|(?!token){SECRET_WORD})[\"']\s*,\s*)(?![\"']value[\"']\s*:)(?:\"[^\"]*\"|'[^']*')",
        QUOTES,
        (",",),
        IN_LONGER_WORD,
    ),
    Sought(rf"(?i)(<(?:[\w.-]*[_:-])?{SECRET_WORD}>)[^<]+(?=</)", ("</",), IN_SECRET_WORD),
    # Of .netrc, and of a browser.
    Sought(r"(?i)\b(login\s+\S+\s+password\s+)\S+", ("login",), ("password",)),
    Sought(r"(?i)\b((?:set-)?cookie:\s*)[^\n]+", ("cookie:",)),
    Sought(rf"(?i)((?<![\w-])--?(?:[\w-]*-)?{SECRET_WORD}\s+){VALUE}", ("-",), IN_SECRET_WORD),
    Sought(
        rf"(?<!\w)([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?)[A-Z0-9_]*=){VALUE}", ("=",), IN_VARIABLE
    ),
    # As YAML writes a variable of an environment.
    Sought(
        rf"(?<!\w)([A-Z0-9_]+_(?:KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?):\s+){VALUE}", (":",), IN_LONGER_VARIABLE
    ),
    Sought(rf"(?i)(?<![\w-])(pw=){VALUE}", ("pw=",)),
    Sought(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}", ("bearer",)),
    # The signature that opens a file in a cloud.
    Sought(r"(?<!\w)(sig=)[\w%+/=-]{16,}", ("sig=",)),
)
# Shapes that need no name, by who issues them.
_SHAPES = Sought(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{16,}|"  # GitHub, Hugging Face
    r"gl(?:pat|rt|dt|cbt|ptt|soat|ft|imt|agent|oas)-[\w-]{16,}|"  # GitLab
    r"ATATT[\w=-]{20,}|lin_api_[A-Za-z0-9]{20,}|AGE-SECRET-KEY-[A-Z0-9]+|"  # Atlassian, Linear, age
    r"sk-[\w-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|"  # model, payment and mail services
    r"(?:nvapi|pplx|xai|tskey)-[\w-]{16,}|(?:gsk|r8|tgp_v1|dckr_pat)_[\w-]{20,}|hv[sbr]\.[\w-]{20,}|"  # likewise
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{20,}|"  # AWS, Google
    r"(?:bot)?\d{8,10}:AA[\w-]{32,40}|"  # Telegram
    r"(?:xox[abeprs]|xapp)-[\w-]{10,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dapi[0-9a-f]{24,}|"  # Slack, npm, PyPI, Databricks
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|"  # JSON web token
    r"(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{32,}|"  # keys in hexadecimal
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # universally unique identifiers: of devices, disks, people
    r")(?![A-Za-z0-9])",
    (*DIGITS, "_", "-", "atatt", "sg.", "hvs.", "hvb.", "hvr.", "akia", "asia", "aiza", "dapi", "eyj"),
)
_PEM = Sought(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", ("-----begin",), flags=re.DOTALL)
_SSH = Sought(r"(?<!\w)(?:ssh-\w+|ecdsa-[\w-]+) AAAA[\w+/]{8,}={0,2}(?: [\w.@-]+)?", (" aaaa",))
# Somebody's address, or somebody on a machine, as scp writes it; no version of a symbol, no decorator of a diff.
_MAIL = Sought(r"(?<![\w.+-])[+-]?\w[\w.+-]*@(?![A-Z]+_\d)[\w-]+(?:(?:\.[\w-]+)+(?::[\w.-]+/[\w./-]+)?|(?=:))", ("@",))
# Four numbers may be a version: they are an address with a port, or in a range that only private networks use.
_ADDRESS = Sought(
    r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}(?=:\d)"
    r"|(?:10\.\d{1,3}|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?!\w|\.\w))"
    r"|(?<![\w:])(?:fe80|f[cd][0-9a-fA-F]{2}|2[0-9a-fA-F]{3})(?::[0-9a-fA-F]{0,4}){2,7}"
    # With a port, any.
    r"|(?<=\[)[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?=\]:\d)"
    # A network card's.
    r"|(?<![\w:-])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}(?![\w-]|:\w)",
    (".", ":"),
)
# Any other four numbers, unless a word before them says that they are a version.
_FOUR = Sought(
    r"(?<![\w.])(?!127\.0\.0\.1|0\.0\.0\.0)(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\w|\.\w)",
    (".",),
    DIGITS,
)
# Looked for before a number that was found: sought with it, the words are tried at each letter of a text.
_VERSION = Pattern(
    r"(?i)(?:(?:cuda|cudnn|cublas|nccl|rocm|driver|version|release|torch|triton|onednn"
    r"|(?<![a-z])(?:hip|mkl|v))[ :=<>~]{0,3}"
    # One sign alone stands between brackets, before a value and behind an arrow as well.
    r"|(?<=\w)[=<>~!]= ?)\Z"
)
# The longest of the words, and the signs behind it.
_MOST_VERSION = len("version") + 3
# Telephone numbers as they are written to be dialled: with the country, or the area in brackets or between dashes.
_TELEPHONE = Sought(
    r"(?<![\w.+-])(?:\+\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){2,5}\d{2,}"
    # And a number of social security, which is written likewise.
    r"|0[1-9]\d{1,4}[ /]\d{5,8}|\(\d{3}\) ?\d{3}[ -]\d{4}|\d{3}-\d{2,3}-\d{4}|00\d{9,13})(?![\w.-])",
    DIGITS,
)
# Numbers as long as those of cards and accounts; the sum of their digits decides.
_CARD = Sought(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])", DIGITS)
_IBAN = Sought(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", DIGITS)
# Machines by names that nothing else has: of private networks and clouds, where modules of Python have no digits or dashes, and as
# Windows and AWS give them unasked.
_MACHINE = Sought(
    r"(?<![\w.-])(?:(?=[a-z.]*[\d-])(?:[A-Za-z0-9-]+\.)+(?:internal|corp|lan|intranet|localdomain|cluster\.local|amazonaws\.com)"
    r"|(?:[A-Za-z0-9-]+\.)+corp(?:\.[A-Za-z0-9-]+)+"
    r"|(?=[a-z0-9.]*[0-9-])(?:[A-Za-z0-9-]+\.)+local"
    r"|(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{7,}|ip(?:-\d{1,3}){4}|i-[0-9a-f]{17}"
    # Under a registered domain, where the machine's own part has a digit or a dash.
    r"|[A-Za-z][A-Za-z]*[\d-][A-Za-z0-9-]*(?:\.[A-Za-z][A-Za-z0-9-]*)+\.(?:com|org|net|edu|gov|mil|io|ai|cloud|tech|de|fr|uk|ch|nl|at|us|ca|au|eu|cn|jp|kr|example|test))"
    r"(?![\w-]|\.\w)",
    (".", "-"),
)
# Nodes of a cluster: a word for a machine, and its number.
_NODE = Sought(
    r"(?<![\w./-])(?:(?:[A-Za-z0-9]+-)+(?:node|host|gpu|box|dgx|hgx|compute|login|rack|server|srv|worker|master|cn|n)-?\d{1,5}"
    r"|(?:node|host|dgx|hgx|compute|login|server|srv)-?\d{2,5}|(?:node|dgx|hgx|compute|login|server|srv)(?:-\d{1,5}){1,2}"
    r"|(?:gpu|dgx|hgx)-[A-Za-z0-9]+-\d{1,5}|nid\d{4,6})(?![\w-]|\.\w|\()",
    DIGITS,
    ("-", "node", "host", "dgx", "hgx", "compute", "login", "server", "srv", "nid"),
)
# Pods as Kubernetes calls them: behind the name of a deployment or of a part of a cluster, letters and digits of its own alphabet.
_POD = Sought(
    r"(?<![\w./-])[a-z0-9]+(?:-[a-z0-9]+)*?-(?:(?=[a-z]*\d)[bcdfghjklmnpqrstvwxz24-9]{8,10}|(?:head|worker)(?:-[a-z0-9]+){0,3}?(?=-[a-z]*\d))"
    r"-[bcdfghjklmnpqrstvwxz24-9]{5}(?![\w-])",
    ("-",),
)


def without_secrets(text: str) -> str:
    """The text with every secret replaced by `[redacted]`, its name kept where it has one."""
    return without_random(SECRETS.made_in(text))


def _is_card(text: str) -> bool:
    """Whether the digits add up as those of a payment card do (Luhn, ISO/IEC 7812-1)."""
    digits = [int(character) for character in reversed(text) if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _value_removed(match: re.Match[str]) -> str:
    return match.group(1) + REMOVED


def _unless_version(match: re.Match[str]) -> str:
    start = match.start()
    before = _VERSION.search(match.string, max(0, start - _MOST_VERSION), start)
    return match.group() if before else REMOVED


def _unless_no_card(match: re.Match[str]) -> str:
    return REMOVED if _is_card(match.group()) else match.group()


_WHOLE = (CONNECTIONS, _PEM, _SSH, _SHAPES, _MAIL, PEOPLE, _ADDRESS, _MACHINE, _NODE, _POD, _TELEPHONE, _IBAN)
SECRETS = Replacements(
    (
        *((sought, _value_removed) for sought in (*DUMPED, *_NAMED, *TOLD)),
        *((sought, REMOVED) for sought in _WHOLE),
        (_FOUR, _unless_version),
        (_CARD, _unless_no_card),
    )
)
