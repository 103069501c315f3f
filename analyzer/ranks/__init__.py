"""The ranks of one job, held against each other by their summaries alone: no trace is read here."""
