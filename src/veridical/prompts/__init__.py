"""Everything that is said to a model: templates and demonstrations, written for this project."""

from .templates import Demonstration, Demonstrations, Template, fence, fingerprint

__all__ = ["Demonstration", "Demonstrations", "Template", "fence", "fingerprint"]
