"""Did my change help? Two sets of runs, judged against their own noise."""
