"""Models: the paper's own networks, and the zoo that finds anyone's by name."""
