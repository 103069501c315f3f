"""Secrets as programs write out what they were given: environments, headers, configurations, connections."""

from __future__ import annotations

import re

from analyzer.report.redact.secret_words import BEFORE, BRACKETS, SECRET_BUT_TOKEN, SECRET_WORD, VALUE

_QUOTE = r"\\{0,4}[\"']"
# As environments name who runs a program and on which machines; of this machine alone, none tells anything.
_WHO = (
    r"(?:(?:[A-Z0-9]+_)*(?:USER|USERNAME|USER_NAME|LOGNAME|HOST|HOSTNAME|HOST_NAME|NODENAME|NODELIST|ADDR|ADDRESS|ACCOUNT)"
    r"|HOME|USERPROFILE|PWD|SSH_\w+)"
)
_NOBODY = r"(?![\"']?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b)"
# Each keeps its first group.
DUMPED = (
    # A name and its value as two entries, as Kubernetes lists an environment.
    re.compile(
        rf"(?i)(\b(?:name|key|variable)(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?[\w.-]{{0,64}}(?:{SECRET_WORD}|[_-](?:key|pass|auth))(?:{_QUOTE})?"
        rf"\s*[,;]?\s*(?:{_QUOTE})?\bvalue(?:{_QUOTE})?\s*[:=]\s*){VALUE}"
    ),
    re.compile(
        rf"(?i)(\[\s*{_QUOTE}(?:{BEFORE}{SECRET_BUT_TOKEN}|[\w-]+[_-](?:token|key|pass|auth)){_QUOTE}\s*\]\s*=(?!=)\s*){VALUE}"
    ),
    re.compile(rf"(?<!\w)({_WHO}=){_NOBODY}(?:\[redacted\]|\w*{BRACKETS}|{VALUE})"),
    re.compile(rf"({_QUOTE}{_WHO}{_QUOTE}\s*[:,]\s*)(?:{_QUOTE})?{_NOBODY}{VALUE}"),
    # Settings of a program, which has no other names that end so.
    re.compile(rf"(?i)(?<![\w-])((?:[\w-]*[_-])?(?:user|host|node)_?name\s*[:=]\s*){_NOBODY}{VALUE}"),
    re.compile(rf"(?<![\w-])(user=)(?=[A-Za-z]){_NOBODY}{VALUE}"),
    # Of a Dockerfile and of other shells; a sentence names variables too, but does not begin so.
    re.compile(
        r"(?<![\w-])((?:ENV|ARG|setenv|export|set\s+-\w+)\s+[A-Za-z0-9_]*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?)\s+)\S+"
    ),
    re.compile(rf"(?i)(\bauthorization{_QUOTE}?\s*[:=]\s*{_QUOTE}?[\w-]+\s+)[^\s'\",;]{{4,}}"),
)
# What opens a database or names an account of a cloud or somebody in a directory, whole.
CONNECTIONS = re.compile(
    r"(?<![\w.-])(?:jdbc:[^\s'\"]+|arn:aws[\w-]*:[^\s'\",;]+"
    r"|(?i:(?:cn|uid)=[^,;'\"=]{1,64}(?:, ?(?:cn|ou|o|dc|l|st|c)=[\w.-]{1,64})+))"
)
