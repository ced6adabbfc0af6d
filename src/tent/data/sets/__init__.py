"""Sets of images: what a set is, the forms that sets take on disk, and the published ones that are known by name."""
