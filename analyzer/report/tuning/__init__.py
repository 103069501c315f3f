"""The result of `advisor tune` in each format; the words are those of `analyzer.page.tuning`."""
