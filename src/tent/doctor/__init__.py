"""The doctor: what would go wrong before it does."""

from tent.doctor.examine import doctor

__all__ = ["doctor"]
