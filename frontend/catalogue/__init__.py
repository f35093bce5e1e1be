"""What the catalogue's pages share: units at the edge, columns of lists, forms made from schemas, differences."""
