"""`veridical compare`: runs side by side on their common prompts."""
