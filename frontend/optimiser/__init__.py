"""The optimiser's pages: questions of cost as forms, and their answers as people read them."""
