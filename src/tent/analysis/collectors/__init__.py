"""One collector a figure of predictions: it is told of batches, and gives the numbers of the figure."""
