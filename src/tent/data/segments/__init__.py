"""Images with a class for each pixel: how label maps are read, and the sets of street scenes that are known."""
