"""Figures: one file a kind, all in one style; each is drawn from a grid, at a width."""
