"""Who waits for whom, why, and what the job would take without."""
