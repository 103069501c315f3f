"""Secrets as sentences and command lines tell them, with no sign between name and value, and addresses without a domain."""

from __future__ import annotations

from analyzer.report.redact.secret_words import (
    BEFORE,
    DIGITS,
    IN_LONGER_VARIABLE,
    IN_SECRET_BUT_TOKEN,
    IN_SECRET_WORD,
    QUOTES,
    SECRET_BUT_TOKEN,
    VALUE,
)
from analyzer.report.redact.sought import Sought

# What stands behind `is` in a sentence about a password that does not tell it.
_NO_VALUE = (
    r"(?:not|no|now|never|none|null|unset|set|required|needed|missing|empty|given|invalid|wrong|correct|incorrect|expired|stored|kept|"
    r"shown|hidden|sent|read|too|the|an?|in|on|of|to|that|this|one|optional|only|also|recognised|recognized|redacted|taken|used|known)\b"
)
_KEY = r"(?:api|access|auth|refresh|private|account|signing|encryption|ssh)[ _-]?(?:key|token)"
# The rest of a command up to one of its options; longer ones are not written by hand.
_OPTIONS = r"\b(?:[ \t]+[^\s|;&]+){0,12}?[ \t]+"
_GIVEN = r"(?!-)[^\s'\"]+"
# Each keeps its first group.
TOLD = (
    Sought(
        rf"(?i)\b((?:{SECRET_BUT_TOKEN}|{_KEY})\s+(?:is|was|ist|war|lautet|est)\s*:?\s+)(?!{_NO_VALUE}){VALUE}",
        IN_SECRET_WORD,
        ("is", "was", "war", "lautet", "est"),
    ),
    # Letters with digits behind the name alone, as no word of a sentence is.
    Sought(
        rf"(?i)(?<![\w-])({BEFORE}(?:{SECRET_BUT_TOKEN}|{_KEY})\s+)(?=[^\s'\"]*\d)(?=[^\s'\"]*[a-z])[\w.~+/=!@#$%^&*-]{{8,}}(?![\w(])",
        IN_SECRET_WORD,
        DIGITS,
    ),
    Sought(r"(?i)\b(identified\s+by\s+)(?:\"[^\"]*\"|'[^']*')", ("identified",), QUOTES),
    # Options that take a password, by the programs that have them; docker's other `-p` are ports.
    Sought(
        rf"(\b(?:sshpass|mysql\w*|mariadb\w*|mongo\w*|htpasswd|7z\w?|unrar|(?:docker|podman|helm\s+registry)\s+login){_OPTIONS}-p\s*){_GIVEN}",
        ("-p",),
        ("sshpass", "mysql", "mariadb", "mongo", "htpasswd", "7z", "unrar", "login"),
    ),
    Sought(rf"(\bldap\w+{_OPTIONS}-w\s*){_GIVEN}", ("ldap",), ("-w",)),
    Sought(rf"(\bredis-cli{_OPTIONS}-a\s*){_GIVEN}", ("redis-cli",)),
    Sought(rf"(\b(?:sqlcmd|bcp|unzip|zip){_OPTIONS}-P\s*){_GIVEN}", ("-p",), ("sqlcmd", "bcp", "zip")),
    Sought(
        rf"(\b(?:curl|wget|svn|http){_OPTIONS}(?:-u|--user)[ \t=]*)[^\s:'\"]+:[^\s'\"]+",
        ("curl", "wget", "svn", "http"),
        ("-u",),
    ),
    # Glued to the option of an unknown program: letters with digits or capitals, which no other flag that begins so has. At the
    # beginning of a line a diff may take out what is assigned to, or called.
    Sought(
        r"(?:^|(?<=[\s\"'`(]))(-p)(?!(?<![^\n]-p)\w*\s*[=(\[.,])(?!rint0|(?:fp|bf|tf|int)\d)(?=[^\s'\"`)]*[A-Za-z])(?=[^\s'\"`)]*[A-Z0-9])[^\s'\"`)]{5,}",
        ("-p",),
    ),
    # Pairs without quotes: of an environment, and in brackets that are no call's.
    Sought(
        r"(?<!\w)([A-Z0-9_]+_(?:KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?)\s*(?:,|[-=]>|→)\s*)(?!value\b)[^\s'\",()\[\]{}]+",
        IN_LONGER_VARIABLE,
    ),
    Sought(
        rf"(?i)((?<![\w>])[(\[{{]\s*{SECRET_BUT_TOKEN}\s*,\s*)[^\s'\",()\[\]{{}}]+(?=\s*[)\]}}])",
        IN_SECRET_BUT_TOKEN,
        (",",),
    ),
)
# Somebody on a machine. Versions of symbols and packages, devices, operands and measures at a limit are written so too.
_AT_MACHINE = (
    r"(?<![\w.+:/<@-])(?!(?:recall|precision|hits?|hit_rate|ndcg|mrr|pass|top|acc\w*|map)@)[A-Za-z_][\w.-]{2,31}@"
    r"(?!(?:plt|got|v\d+|latest|main|master|head|stable|keys?|values?|query|queries|weights?|bias|cuda|gpu|cpu|xpu|mps|meta|float|half|double|"
    r"(?:fp|bf|tf|u?int)\d*)\d*(?![\w-]))"
    r"(?:[a-z][a-z0-9-]{2,62}|[A-Z][A-Z0-9-]{5,62})(?![\w(@.-])"
)
# Addresses as people write them for people.
_SPELT = (
    r"(?<![\w.+-])[\w.+-]{2,64}(?:\s[\[({<]at[\])}>]\s[\w-]+(?:\s?(?:\.|[\[({<]dot[\])}>])\s?[\w-]+)*"
    r"|\s?[\[({<]at[\])}>]\s?[\w-]+(?:\s?(?:\.|[\[({<]dot[\])}>])\s?[\w-]+)+"
    r"|\sat\s[\w-]+(?:\sdot\s[\w-]+)+)"
)
# And with what opens it: a name, a password of letters with other signs, a machine.
_LETS_IN = (
    r"(?<![\w.+:@-])[A-Za-z][\w.+-]{1,31}:(?!v?\d+(?:\.\d+)*@)(?=[^\s@]*[A-Za-z])(?=[^\s@]*[\d!$%^*#?+~])[^\s@:/'\"()<>\[\]{},]{4,64}@"
    r"(?!sha\d)[A-Za-z][\w.-]{2,}(?::\d+)?"
)
PEOPLE = Sought(rf"{_LETS_IN}|{_AT_MACHINE}|(?i:{_SPELT})", ("@", "[at", "(at", "{at", "<at", "dot"))
