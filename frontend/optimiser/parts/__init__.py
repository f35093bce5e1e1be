"""Parts of a question, one thing to say in each."""
