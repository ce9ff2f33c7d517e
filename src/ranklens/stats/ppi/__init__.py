"""Prediction-powered comparison: many cheap judgements, corrected by a few right ones."""
