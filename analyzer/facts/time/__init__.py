"""Who owns each nanosecond of the used steps, and what that means for the step: waits, gaps, pauses, uneven steps."""
