"""Sentences that make no claim, recognised by rule before a model is paid for them.

Greetings, offers of help, lead-ins, questions, headings and what an assistant says of itself, its answer or its
sources. The rules are narrow on purpose: a claim taken for a phrase is lost from the score, whereas a phrase taken for
a claim can still be answered "no claim" by the decomposer. So a rule needs the words of the phrase from the start of
the sentence ("Please let me know", never "Please" alone), and openers ("Sure!", "Certainly,") only count where nothing
but another phrase follows. English only; in other languages questions, headings and wordless lines are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .types import Sentence

LONGEST = 600
"""Code points of a sentence that are looked at: no phrase is longer, and the cost of a rule stays bounded."""


def _rule(pattern: str) -> re.Pattern[str]:
    """Compile a rule as written below: lines and blanks are layout, an underscore is a blank."""
    return re.compile(pattern.replace("_", r"\ "), re.VERBOSE)


# Said before the sentence proper. Connectives count too: "However, I could not find her birthday."
_OPENER = _rule(r"""
    (?: sure_thing | sure | certainly | of_course | absolutely | definitely | yes | okay | ok | alright | great
    | hello_there | hello | hi_there | hi | hey_there | hey | greetings | thank_you | thanks | welcome
    | good_(?:morning|afternoon|evening) | got_it | understood
    | however | unfortunately | additionally | also | overall | in_summary | in_conclusion | finally | lastly )
    _? (?: [!,.:;–—-] _? | $ )""")

_ABOUT_TEXT = r"""(?: bio | biography | biographies | profile | overview | summary | outline | introduction | answer
    | response | list | table | timeline | facts? | details? | information | info | examples? | points? | things?
    | highlights? | breakdown | explanation | description | paragraph | version | text | rundown | look | reasons?
    | ways? | steps? | aspects? | features? | names? | achievements? )"""
_ARTICLE = r"""(?: a | an | the | some | my | your | few | more | several | other | brief | short | quick | detailed
    | concise | general | key | main | possible )"""
_MODAL = r"(?: can | could | will | would )"
_GLADLY = r"(?: now_ | also_ | gladly_ | happily_ )?"

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, _rule(pattern))
    for name, pattern in (
        ("a greeting", r"(?: hello | hi | hey | greetings | welcome ) (?: _there | _everyone | _all )? \W* $"),
        (
            "a greeting",
            r"""(?: that(?:'s|_is)_an?_ | what_an?_ )? (?: great | good | excellent | interesting | fascinating )
                _question\b .{0,40} $""",
        ),
        ("a greeting", r"(?: thank_you | thanks )\b (?: _so_much | _very_much )? (?: \W* $ | _for_(?:asking|your) \b)"),
        (
            "an offer",
            r"(?: please_ )? let_me_know (?: _if | _what | _when | _how | _whether | _which | _in_case | \W{0,9} $ )",
        ),
        ("an offer", r"(?: please_ )? (?: feel_free | do_not_hesitate | don't_hesitate )_to\b"),
        (
            "an offer",
            r"""(?: i_am_ | i'm_ | i_would_be_ | i'd_be_ )? (?: always_ )? (?: happy | glad | delighted | pleased )
                _to_ (?: help | assist | provide | share | answer )\b""",
        ),
        (
            "an offer",
            r"""(?: i_ (?:really_)? )? hope_ (?: this | that | it | the_above | the_information )_ (?: \w+_ )?
                (?: helps? | answers? | is | gives | clarifies | was )\b""",
        ),
        (
            "an offer",
            r"""(?: please_ )? if_ (?: you | there ) (?: 'd | _would | _have | _need | _want | _are | 're | _is | 's )\b
                .{0,120} \b(?: let_me_know | feel_free | ask | help | assist | question )""",
        ),
        (
            "an offer",
            rf"i (?: _{_MODAL} | 'll | 'd )_ {_GLADLY} (?: help | assist | provide | share | give | tell | summari[sz]e"
            r"| outline | describe | explain | list )\b",
        ),
        (
            "an offer",
            r"please_ (?: specify | clarify | provide_(?:me|more|additional|further) | ask_(?:me|if) | reach_out )\b",
        ),
        (
            "a lead-in",
            rf"""(?: here (?:'s|_is|_are) | below_(?:is|are) | (?:the_)?following_(?:is|are) | these_are )_
                (?: {_ARTICLE}_ ){{0,4}} (?: \w+_ )? {_ABOUT_TEXT}\b [^:]{{0,120}} :? $""",
        ),
        (
            "a pointer",
            r"""(?: please_ )? (?: visit | see | check_out | check | click | read_more | go_to | refer_to | follow )\b
                .{0,80} (?: https?:// | www\.)""",
        ),
        ("an interjection", r"(?: wow | whoa | ha | hmm | oops | hooray | yay | cheers | amazing | wonderful ) \W* $"),
        ("a lead-in", r"here_are_ (?: some | a_few | several | more | other )\b [^:]{0,200} :? $"),
        ("a lead-in", r"(?: here (?:'s|_is|_are) | below_(?:is|are) | the_following_(?:is|are) )_ [^:]{0,160} : $"),
        (
            "a lead-in",
            r"(?: some | several | other | key | notable )_ [^:]{0,80}_ (?:are|include) (?:_the_following)? : $",
        ),
        ("a lead-in", r"[^:]{0,200}_these_steps : $"),
        (
            "a lead-in",
            r"(?: here (?:'s|_is)_ )? what_(?:i|we)_ (?: know | found | have_found | could_find | can_tell )\b",
        ),
        (
            "about the assistant",
            r"""as_an?_ (?: large_ )? (?: ai | artificial_intelligence | language | llm )
                (?: _language )? (?: _model | _assistant | _chatbot | _system )? ,_ (?: i | my | it )\b""",
        ),
        (
            "about the assistant",
            r"""(?: i_am | i'm | i_was )_ (?: just_ | only_ | unfortunately_ | currently_ )? (?: sorry | afraid | unsure
                | unable | unaware | not_(?:sure|able|aware|certain|familiar) | an?_(?:ai|large|language)\b )""",
        ),
        (
            "about the assistant",
            r"""i_ (?: apologi[sz]e | could_not | couldn't | cannot | can't | can_not | did_not_find | didn't_find
                | do_not_(?:have|know|possess) | don't_(?:have|know|possess) | found_no | lack | (?:would_)?recommend
                | suggest | advise )\b""",
        ),
        (
            "about the assistant",
            r"my_ (?: apologies | (?:knowledge|training) .{0,40}_ (?: is | was | goes | ends | only | may ) )\b",
        ),
        (
            "about the sources",
            r"""(?: there_(?:is|are|was|were|seems_to_be|appears_to_be) (?:_currently|_unfortunately)? | there's
                | i_have | i_found )_ (?: no | not_(?:much|enough|any) | little | limited | insufficient )_
                (?: \w+_ ){0,4} (?: information | details? | data | records? | mention )\b
                .{0,40} (?: available | found | provided | about | on | regarding | in_(?:the|these|this) | to )\b""",
        ),
        (
            "about the sources",
            r"(?: no | little | limited )_ (?: \w+_ ){0,3} (?: information | details | data )_ (?:is|was|are|were)\b",
        ),
        (
            "about the sources",
            r"""(?: the_ | these_ | this_ )? (?: provided_ | given_ | available_ | above_ )?
                (?: search_results? | sources_provided | (?:provided|given)_(?:text|sources?|context|documents?) )_
                (?: (?: do | does | did )_not | don't | doesn't | didn't | lack | only )\b""",
        ),
        (
            "a hedge",
            r"""(?: please_ )? (?: note | keep_in_mind | be_aware | remember | be_advised
                | (?:it's|it_is)_ (?:also_)? (?: important | worth | necessary )_
                  (?:to_)? (?: note | noting | mention | mentioning | remember | keep_in_mind ) )_ (?: that_ )?
                (?: this | these | the | my | some | not_all | all | there_may | i | information )\b .{0,60}
                \b(?: information | knowledge | answer | response | list | details | data | i_(?:do|am|may|can)
                | exhaustive | up.to.date | change_over_time | verif\w+ | consult | outdated )\b""",
        ),
        (
            "a hedge",
            r"""(?: this | the_above | the | all )_ (?: information | answer | response | list | summary | details? )_
                (?: provided_ | given_ | above_ )? (?: is | are | may | might | could | should )_ .{0,60}
                \b(?: not | exhaustive | verified | outdated | based_on | inaccura\w+ | up.to.date | incomplete )\b""",
        ),
        (
            "a hedge",
            r"""for_ (?:the_)? (?: most_ | more_ | further_ | additional_ ) [^.]{0,160}
                (?: i_(?:recommend|suggest|advise) | please | you_(?:can|may|should) | consult | refer_to )\b""",
        ),
        (
            "a hedge",
            r"(?: please_ | you_may_want_to_ | you_should_ ) (?: verify | consult | (?:double-)?check | refer_to )\b",
        ),
        ("a hedge", r"(?: it_is | it's )_ (?: unclear | not_clear )_from_(?:the|these|my)\b"),
        ("a source", r"(?: sources? | references? | citations? | further_reading | external_links? | see_also ) _? :"),
    )
)

# "I have no birth date for her, but Ana Brandt opened the mill": a claim follows after all.
_BUT = _rule(r"""
    .* (?: ,_(?: but | although | though | yet | however ) | ;_however,? )_
    (?! (?: i | i'm | i'll | i'd | my | you | we | please | this | it | there_(?:is|are)_(?:no|not) )\b )""")

_CITATION = re.compile(r"\[\d{1,4}\]")
_LINK = re.compile(r"(?:\[?\d{0,4}\]?:?\s{0,3})?(?:https?://|www\.)\S{1,2000}$")
_MARKUP = re.compile(r"^[\s>#*_•–—-]{1,20}|[\s*_]{1,20}$")
_CLOSERS = "*_\"'”’»)] "


def reason(sentence: Sentence, sentences: Sequence[Sentence] = ()) -> str | None:
    """Why this sentence makes no claim ("a greeting", "a question", …), for the report; None if it may make one.

    `sentences` are all of the generation's: a few words before a colon are a heading only if something follows them.
    """
    if sentence.kind == "heading":
        return "a heading"
    text = _CITATION.sub("", sentence.text).strip()
    if not _has_word(text):
        return "only a citation" if _has_word(sentence.text) else "no words"
    if _LINK.match(text):
        return "a source"
    if sentence.kind == "item":  # of a list: may be a title, such as "Hello" or "Who Framed Roger Rabbit?"
        return None
    if text.rstrip(_CLOSERS).endswith(("?", "？", "؟")):
        return None if _ends_in_quotation(text) else "a question"
    text = _MARKUP.sub("", text[:LONGEST]).replace("’", "'").casefold()
    if text.endswith((":", "：")) and len(text.split()) <= 3 and any(s.index > sentence.index for s in sentences):
        return "a heading"
    return _phrase(text)


def _phrase(text: str) -> str | None:
    for _ in range(3):  # "Sure! Of course, here is a bio."
        for name, rule in _RULES:
            if rule.match(text):
                return None if _BUT.match(text) else name
        opener = _OPENER.match(text)
        if not opener:
            return None
        text = text[opener.end() :].lstrip()
        if not _has_word(text):
            return "an interjection"
    return None


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _ends_in_quotation(text: str) -> bool:
    """A statement that ends with the title or words of another: `He wrote "Who Am I?"`."""
    return text.rstrip("*_ ").endswith(('?"', "?”", "?'", "?’", "?»")) and not text.startswith(tuple("\"“'‘«"))
