"""What a comparison shows: its table, equal cost, where the gain comes from, and how sure all of that is."""
