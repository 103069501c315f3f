"""What a secret is called, and how its value is written."""

# A token is also a piece of text, and stands in code and prose of language models: patterns that mind that name it themselves.
SECRET_BUT_TOKEN = (
    r"(?:secret|passwd|password|passwort|kennwort|passphrase|passcode|pwd|(?:api|access|private|account|secret|signing|encryption|ssh|hf|wandb)"
    r"[_-]?key|credentials?)"
)
SECRET_WORD = rf"(?:token|{SECRET_BUT_TOKEN})"
_QUOTED = r"[bBfFrRuU]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"]*\"|'[^']*')"
# In quotes, also in those of a call or a list, as `SecretStr('...')` and `['...', '...']`; else up to the next blank.
VALUE = rf"(?:\[[^\]]{{0,2000}}\]|(?:[\w.]{{0,64}}[(\[{{<]\s*)?{_QUOTED}|[^\s'\"&,;)]+)"
