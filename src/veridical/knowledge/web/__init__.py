"""Searching the web: providers behind one protocol, and the pages that they find."""
