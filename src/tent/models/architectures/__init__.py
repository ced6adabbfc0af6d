"""Networks that are no residual ones: self-attention, equilibria, and small forms of those with layer norm."""
