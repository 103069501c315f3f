"""What happened: making and reading trace files.

This package knows how a profiler trace is recorded, read and repaired, and nothing about what it means. Nothing here is
imported eagerly: `import traces` costs no pandas and no torch.
"""
