"""One module per pane, named after what it shows; small shared parts beside them."""
