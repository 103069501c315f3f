"""Secrets as programs write out what they were given: environments, headers, configurations, connections."""

from __future__ import annotations

from analyzer.report.redact.secret_words import (
    BEFORE,
    BRACKETS,
    IN_LONGER_WORD,
    IN_VARIABLE,
    QUOTES,
    SECRET_BUT_TOKEN,
    SECRET_WORD,
    VALUE,
)
from analyzer.report.redact.sought import Sought

_QUOTE = r"\\{0,4}[\"']"
# As environments name who runs a program and on which machines; of this machine alone, none tells anything.
_WHO = (
    r"(?:(?:[A-Z0-9]+_)*(?:USER|USERNAME|USER_NAME|LOGNAME|HOST|HOSTNAME|HOST_NAME|NODENAME|NODELIST|ADDR|ADDRESS|ACCOUNT)"
    r"|HOME|USERPROFILE|PWD|SSH_\w+)"
)
_IN_WHO = ("user", "logname", "host", "node", "addr", "account", "home", "pwd", "ssh_")
_IN_WHO_SET = ("user=", "name=", "host=", "list=", "addr=", "address=", "account=", "home=", "profile=", "pwd=", "ssh_")
_NOBODY = r"(?![\"']?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b)"
# Each keeps its first group.
DUMPED = (
    # A name and its value as two entries, as Kubernetes lists an environment.
    Sought(
        rf"(?i)(\b(?:name|key|variable)(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?[\w.-]{{0,64}}(?:{SECRET_WORD}|[_-](?:key|pass|auth))(?:{_QUOTE})?"
        rf"\s*[,;]?\s*(?:{_QUOTE})?\bvalue(?:{_QUOTE})?\s*[:=]\s*){VALUE}",
        ("value",),
        IN_LONGER_WORD,
    ),
    Sought(
        rf"(?i)(\[\s*{_QUOTE}(?:{BEFORE}{SECRET_BUT_TOKEN}|[\w-]+[_-](?:token|key|pass|auth)){_QUOTE}\s*\]\s*=(?!=)\s*){VALUE}",
        ("=",),
        QUOTES,
        IN_LONGER_WORD,
    ),
    Sought(rf"(?<!\w)({_WHO}=){_NOBODY}(?:\[redacted\]|\w*{BRACKETS}|{VALUE})", _IN_WHO_SET, ("=",)),
    Sought(rf"({_QUOTE}{_WHO}{_QUOTE}\s*[:,]\s*)(?:{_QUOTE})?{_NOBODY}{VALUE}", QUOTES, _IN_WHO),
    # Settings of a program, which has no other names that end so.
    Sought(
        rf"(?i)(?<![\w-])((?:[\w-]*[_-])?(?:user|host|node)_?name\s*[:=]\s*){_NOBODY}{VALUE}",
        ("name",),
        ("user", "host", "node"),
        ("=", ":"),
    ),
    Sought(rf"(?<![\w-])(user=)(?=[A-Za-z]){_NOBODY}{VALUE}", ("user=",)),
    # Of a Dockerfile and of other shells; a sentence names variables too, but does not begin so.
    Sought(
        r"(?<![\w-])((?:ENV|ARG|setenv|export|set\s+-\w+)\s+[A-Za-z0-9_]*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?)\s+)\S+",
        ("env", "arg", "export", "set"),
        IN_VARIABLE,
    ),
    Sought(rf"(?i)(\bauthorization{_QUOTE}?\s*[:=]\s*{_QUOTE}?[\w-]+\s+)[^\s'\",;]{{4,}}", ("authorization",)),
)
# What opens a database or names an account of a cloud or somebody in a directory, whole.
CONNECTIONS = Sought(
    r"(?<![\w.-])(?:jdbc:[^\s'\"]+|arn:aws[\w-]*:[^\s'\",;]+"
    r"|(?i:(?:cn|uid)=[^,;'\"=]{1,64}(?:, ?(?:cn|ou|o|dc|l|st|c)=[\w.-]{1,64})+))",
    ("jdbc:", "arn:aws", "cn=", "uid="),
)
