"""Runs: one model adapted to one stream, and what is written about it."""
