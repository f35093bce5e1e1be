"""What is recommended of each watch, once a second: fed from what is seen, kept in an audit log, and told to others."""
