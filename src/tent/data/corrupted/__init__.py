"""Sets under a corruption that are made from files of clean images: while they are read, or as folders of files."""
