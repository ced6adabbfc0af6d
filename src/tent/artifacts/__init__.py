"""What an adaptation leaves behind: deltas, checkpoints and baked models."""
