"""Many comparisons at once: a batch of rows of differences, and the statistics of all its rows together."""
