"""Generations from files: JSONL, JSON, CSV, Parquet, gzip, stdin, and the published formats as they are."""

from .reading import Inputs, read, sample

__all__ = ["Inputs", "read", "sample"]
