"""The figures of predictions: each is told of batches, and gives its numbers."""
