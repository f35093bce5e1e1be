"""What all documents share: field types, dotted paths, and mistakes told by field."""
