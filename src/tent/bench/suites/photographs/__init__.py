"""Tables of photographs: ImageNet-C in full and in small, and shifts that nobody computed."""
