"""From a case to its result."""
