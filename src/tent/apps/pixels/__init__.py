"""Runs of models that answer with a class for each pixel: label maps, overlays, and pictures of single images."""
