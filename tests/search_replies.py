"""Replies and errors of search providers, as their documentation has them, made up for one query."""

from typing import Any

TAVILY: dict[str, Any] = {
    "query": "Marie Curie born",
    "answer": "A model says 1868.",
    "images": [],
    "results": [
        {
            "title": "Marie Curie",
            "url": "https://a.test/curie",
            "content": "Born in Warsaw\non 7 November 1867.",
            "score": 0.98,
            "raw_content": None,
        },
        {"title": "News", "url": "https://b.test", "content": "An exhibition.", "published_date": "2024-03-01"},
    ],
    "response_time": 1.1,
}
BRAVE: dict[str, Any] = {
    "type": "search",
    "query": {"original": "Marie Curie born"},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Marie <strong>Curie</strong>",
                "url": "https://a.test/curie",
                "description": "<strong>Born</strong> in Warsaw &amp; raised there.",
                "extra_snippets": ["She moved to Paris in 1891.", "raised there."],
                "page_age": "2023-04-05T00:00:00",
                "age": "April 5, 2023",
            },
            {"title": "B", "url": "https://b.test", "description": "Physicist.", "age": "3 days ago"},
        ],
    },
    "infobox": {
        "type": "graph",
        "results": [
            {
                "title": "Marie Curie",
                "url": "https://en.wikipedia.org/wiki/Marie_Curie",
                "long_desc": "Polish-French physicist",
                "attributes": [["Born", "<p>7 November 1867</p>"], ["Spouse", None], ["odd"]],
            }
        ],
    },
    "faq": {
        "type": "faq",
        "results": [{"question": "Where was she born?", "answer": "Warsaw.", "title": "F", "url": "https://f.test"}],
    },
}
EXA: dict[str, Any] = {
    "requestId": "b5947044c4b78efa9552a7c89b306d95",
    "results": [
        {
            "id": "https://a.test/curie",
            "title": "Marie Curie",
            "url": "https://a.test/curie",
            "publishedDate": "2023-11-16T01:36:32.547Z",
            "text": "Menu. Marie Curie was a physicist.",
            "highlights": ["Born in Warsaw.", "She died in 1934."],
            "summary": "A model says 1868.",
        },
        {"title": "B", "url": "https://b.test", "text": "Only text.", "highlights": []},
    ],
    "costDollars": {"total": 0.007},
}
SEARXNG: dict[str, Any] = {
    "query": "Marie Curie born",
    "number_of_results": 0,
    "results": [
        {
            "title": "Marie Curie",
            "url": "https://a.test/curie",
            "content": "Born in <b>Warsaw</b>.",
            "publishedDate": "2023-04-05T00:00:00",
            "engine": "bing",
            "score": 2.0,
        },
        {"title": "B", "url": "https://b.test", "content": "Physicist.", "publishedDate": None},
    ],
    "answers": ["7 November 1867", {"answer": "Warsaw", "url": "https://w.test", "engine": "x"}],
    "infoboxes": [
        {
            "infobox": "Marie Curie",
            "id": "https://en.wikipedia.org/wiki/Marie_Curie",
            "content": "Polish-French physicist",
            "urls": [{"title": "Wikipedia", "url": "https://en.wikipedia.org/wiki/Marie_Curie"}],
            "attributes": [{"label": "Born", "value": "1867"}],
        }
    ],
    "unresponsive_engines": [["google", "timeout"]],
}
MEDIAWIKI: dict[str, Any] = {
    "batchcomplete": True,
    "query": {
        "searchinfo": {"totalhits": 2},
        "search": [
            {"ns": 0, "title": "Marie Curie", "snippet": 'won the <span class="searchmatch">Davy</span> Medal'},
            {"ns": 0, "title": "Pierre Curie", "snippet": "husband of &quot;Marie&quot;"},
        ],
        "pages": [
            {
                "pageid": 1,
                "title": "Pierre Curie",
                "index": 2,
                "fullurl": "https://en.wikipedia.org/wiki/Pierre_Curie",
                "revisions": [{"timestamp": "2026-10-01T00:00:00Z"}],
            },
            {
                "pageid": 2,
                "title": "Marie Curie",
                "index": 1,
                "fullurl": "https://en.wikipedia.org/wiki/Marie_Curie",
                "extract": "Marie Curie was a physicist.\nBorn in Warsaw.",
                "revisions": [{"timestamp": "2026-11-01T00:00:00Z"}],
            },
        ],
    },
}
REPLIES = {"tavily": TAVILY, "brave": BRAVE, "exa": EXA, "searxng": SEARXNG, "mediawiki": MEDIAWIKI}
RESULTS: dict[str, Any] = {  # a reply with these results, each {title, url, said}
    "tavily": lambda rows: {"results": [named(row, said="content") for row in rows]},
    "brave": lambda rows: {"web": {"results": [named(row, said="description") for row in rows]}},
    "exa": lambda rows: {"results": [named(row, said="text") for row in rows]},
    "searxng": lambda rows: {"results": [named(row, said="content") for row in rows]},
    "mediawiki": lambda rows: {"query": {"pages": [named(row, said="extract", url="fullurl") for row in rows]}},
}


def named(row: Any, **names: str) -> Any:
    return {names.get(name, name): value for name, value in row.items()} if isinstance(row, dict) else row


def exa_error(tag: str, said: str) -> dict[str, Any]:
    return {"requestId": "r", "error": said, "tag": tag}


def brave_error(code: str, status: int, detail: str, **meta: Any) -> dict[str, Any]:
    return {"type": "ErrorResponse", "error": {"code": code, "detail": detail, "status": status, "meta": meta}}
