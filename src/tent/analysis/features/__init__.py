"""Features inside a model: captured, added up, and compared layer by layer."""
