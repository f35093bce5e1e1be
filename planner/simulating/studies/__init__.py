"""Studies: a simulation over and over with something changed, by the same requests, as one job."""
