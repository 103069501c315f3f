"""The terminal UI: shows one `Analysis`, computes nothing. The only place that imports Textual."""

import os

# So long Textual waits after Esc for the rest of a key's sequence, in milliseconds; `prompt` has it look as often. Its own 100
# are felt, and a terminal sends a sequence at once: tmux waits as long as this. Textual reads it when it is imported; whoever has
# set it decides.
os.environ.setdefault("ESCDELAY", "10")
