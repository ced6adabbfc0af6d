"""Networks that are no residual ones of ours: self-attention, equilibria, layer norm, and those of other libraries."""
