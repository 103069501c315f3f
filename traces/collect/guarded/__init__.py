"""Running a script so that nothing of the user's changes: in a scratch folder, in a session of its own, until we end it."""
