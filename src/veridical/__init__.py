"""Measure, explain and repair the factuality of long-form text written by language models."""

__version__ = "0.1.0"
