"""A folder on `PYTHONPATH` while a program is recorded: each Python that the program starts runs its `sitecustomize`."""
