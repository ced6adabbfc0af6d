"""Methods that move no parameter, and answer by what the last layer is given."""
