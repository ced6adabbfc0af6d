"""Source: the model as it was trained."""

from tent.method import Method


class Source(Method):
    """The model as it was trained, in eval mode: what everything else is compared with."""
