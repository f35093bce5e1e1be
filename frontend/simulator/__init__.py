"""The simulator's pages: what is simulated as a form, and what came of it as people read it."""
