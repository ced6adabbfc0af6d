"""Methods that learn from some predictions of a batch alone: the certain, the new, the robust."""
