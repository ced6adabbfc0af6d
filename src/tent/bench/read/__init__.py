"""From a store of results to grids and summaries."""
