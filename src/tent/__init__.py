"""Test-time adaptation for any PyTorch model; the model that is handed in is never written to."""

__version__ = "0.1.0"
