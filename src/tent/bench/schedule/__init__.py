"""Which case runs next, and in which worker."""
