"""The ideal bootstrap: the law of a mean or ratio over infinitely many resamples, computed and not drawn."""
