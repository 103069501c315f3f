"""Text that is generated token by token."""
