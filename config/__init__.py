"""How the site is put together."""
