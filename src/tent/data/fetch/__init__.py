"""How published sets come to lie on disk: downloaded, checked, opened safely and laid out."""
