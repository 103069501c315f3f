"""What a secret is called, and how its value is written."""

# Words before the one that says so: `db_password`, `db-password`, `dbPassword`.
BEFORE = r"(?:[\w-]*[_-]|(?-i:\w*[a-z0-9](?=[A-Z])))?"
# A token is also a piece of text, and stands in code and prose of language models: patterns that mind that name it themselves.
SECRET_BUT_TOKEN = (
    r"(?:secret|passwd|password|passwort|kennwort|passphrase|passcode|pwd|"
    r"(?:api|access|private|account|secret|signing|encryption|licen[cs]e|subscription|storage|fernet|ssh|hf|wandb)[_-]?key|cred(?:ential)?s?|conn(?:ection)?[_-]?str(?:ing)?"
    r"|mot de passe|contraseña|senha|пароль|密码|密碼|パスワード|비밀번호)"
)
SECRET_WORD = rf"(?:token|{SECRET_BUT_TOKEN})"
# Without one of these in it, in letters of ASCII no such word is written; and none of an environment's, which are capitals: reports
# speak of passes.
IN_SECRET_BUT_TOKEN = (
    "secret", "passwd", "passwo", "passph", "passco", "mot de passe", "kennwort", "pwd", "key", "cred", "conn", "senha",
)  # fmt: skip
IN_SECRET_WORD = (*IN_SECRET_BUT_TOKEN, "token")
# Names that may be shorter where something stands before them.
IN_LONGER_WORD = (*IN_SECRET_WORD, "_pass", "-pass", "_auth", "-auth")
IN_VARIABLE = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL")
IN_LONGER_VARIABLE = tuple(f"_{word}" for word in IN_VARIABLE)
DIGITS = tuple("0123456789")
QUOTES = ('"', "'")
# Everything between brackets, with one more pair inside; what does not end is taken as far as a secret may reach.
BRACKETS = (
    r"(?:\{(?:[^{}]|\{[^{}]{0,500}\}){0,2000}(?:\}|$)|\[(?:[^\[\]]|\[[^\[\]]{0,500}\]){0,2000}(?:\]|$)"
    r"|\((?:[^()]|\([^()]{0,500}\)){0,2000}(?:\)|$))"
)
# One that does not end was cut, and reaches to the end.
_QUOTED = (
    r"(?:[bBfFrRuU]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"]*(?:\"|$)|'[^']*(?:'|$))|\\{1,4}\"[^\"]*\"|\\{1,4}'[^']*')"
)
# In brackets or quotes, also in those of a call, as `SecretStr('...')`; else up to the next blank.
VALUE = rf"(?:{BRACKETS}|(?:[\w.]{{0,64}}[(\[{{<]\s*)?{_QUOTED}|[^\s'\"&,;)]+)"
