"""The mathematics of cross-datacenter prefill. A library: no Django, no files, no database.

Units are SI throughout: seconds, bytes, bit/s, tokens, requests/s. Equation numbers are those of
*Prefill-as-a-Service* (arXiv 2604.15039).
"""
