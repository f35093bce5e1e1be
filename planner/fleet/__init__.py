"""Several PrfaaS and PD clusters on several links, as a document: what they carry together, and how to run them."""
