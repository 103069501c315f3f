"""What every test starts from."""

from __future__ import annotations

import signal

# A shell that starts the tests in the background has them ignore interrupts, and so every process they start: none could be
# interrupted to see what it does.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
