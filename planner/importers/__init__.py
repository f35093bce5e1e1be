"""From files that people already have to catalogue entries, with the mapping and every assumption shown."""
