"""Methods for streams whose shifts come one after another: teachers, memories and ties to the source."""
