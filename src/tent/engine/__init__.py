"""How one batch is run; the only room that knows torch's inner workings."""
