"""Artifacts of others: made by producers in processes of their own, and held against reference calls."""
