"""What somebody is told of, and how: rules, their evaluation once a second, silences, receivers, annotations."""
