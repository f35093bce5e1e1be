"""The catalogue's pages: overview, lists, details, forms, history; one file a page."""
