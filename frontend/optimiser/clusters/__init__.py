"""Several PrfaaS and PD clusters: the question as a form of rows, and its answer as people read it."""
