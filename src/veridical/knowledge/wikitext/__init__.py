"""MediaWiki's wikitext as text that keeps the facts: what templates write, infoboxes, tables.

`article` reads one page. In the order of its steps: `tags` takes references and comments out, `tokens` finds templates,
links and tables, `templates` reads a template by the family of its name (`dates`, `numbers`, `words`, `sport`,
`abroad`, `functions`, `infobox`), `tables` makes rows sentences, `inline` cleans what is left, `sections` parts it.
What names mean, language by language, stands in `data/`.
"""

from .page import Article, article, redirect_target

__all__ = ["Article", "article", "redirect_target"]
