"""Short plain sentences and all of their facts: the embedded decomposer writes no fact that is not a sentence."""

import pytest

from veridical.clauses import ClauseDecomposer
from veridical.types import Generation, Sentence

DECOMPOSER = ClauseDecomposer()
PLAIN = """
She moved to Paris in 1891, studied at the Sorbonne, and married Pierre Curie in 1895.
- Ada Stow moved to Paris.
- Ada Stow moved in 1891.
- Ada Stow studied at the Sorbonne.
- Ada Stow married Pierre Curie in 1895.
He spoke eight languages and loved pigeons.
- Ada Stow spoke eight languages.
- Ada Stow loved pigeons.
He married twice and had three sons.
- Ada Stow married twice.
- Ada Stow had three sons.
His Principia was published in 1704 and his Opticks in 1687.
- Ada Stow's Principia was published in 1704.
- Ada Stow's Opticks was published in 1687.
She was the first woman to receive the Order of Merit.
- Ada Stow was the first woman to receive the Order of Merit.
He became Lucasian Professor of Mathematics in 1669.
- Ada Stow became Lucasian Professor of Mathematics in 1669.
Ada Stow was a nurse and statistician.
- Ada Stow was a nurse.
- Ada Stow was a statistician.
The couple discovered uranium and radium in 1898.
- The couple discovered uranium in 1898.
- The couple discovered radium in 1898.
She was born in Leith in 1901 and died in Oslo in 1980.
- Ada Stow was born in Leith.
- Ada Stow was born in 1901.
- Ada Stow died in Oslo.
- Ada Stow died in 1980.
He painted portraits and landscapes.
- Ada Stow painted portraits.
- Ada Stow painted landscapes.
She wrote novels, edited a journal, and taught Latin.
- Ada Stow wrote novels.
- Ada Stow edited a journal.
- Ada Stow taught Latin.
She founded the school in 1920 and ran it until 1935.
- Ada Stow founded the school in 1920.
- Ada Stow ran it until 1935.
He left school at fourteen, worked in a mill, and read at night.
- Ada Stow left school at fourteen.
- Ada Stow worked in a mill.
- Ada Stow read at night.
The bridge was designed by Jo Hall and opened in 1932.
- The bridge was designed by Jo Hall.
- The bridge opened in 1932.
The tower was built in 1889 and restored in 1990.
- The tower was built in 1889.
- The tower was restored in 1990.
The library burned down in 1731 and was rebuilt in 1740.
- The library burned down in 1731.
- The library was rebuilt in 1740.
The river rises in Spain and flows through Portugal.
- The river rises in Spain.
- The river flows through Portugal.
Her first book was published in 1950 and her second in 1956.
- Ada Stow's first book was published in 1950.
- Ada Stow's second book was published in 1956.
The first line opened in 1863 and the second in 1868.
- The first line opened in 1863.
- The second line opened in 1868.
She was the first person to cross the desert alone.
- Ada Stow was the first person to cross the desert alone.
He was the youngest player to win the cup.
- Ada Stow was the youngest player to win the cup.
She was the second woman to hold the chair.
- Ada Stow was the second woman to hold the chair.
He was the last king to live in the palace.
- Ada Stow was the last king to live in the palace.
She became Regius Professor of Greek in 1908.
- Ada Stow became Regius Professor of Greek in 1908.
He served as Deputy Minister of Health from 1999 to 2004.
- Ada Stow served as Deputy Minister of Health.
- Ada Stow served from 1999 to 2004.
He is a physicist and mathematician.
- Ada Stow is a physicist.
- Ada Stow is a mathematician.
She was an engineer and a pilot.
- Ada Stow was an engineer.
- Ada Stow was a pilot.
Ada Stow was a Scottish poet, critic, and translator.
- Ada Stow was Scottish.
- Ada Stow was a poet.
- Ada Stow was a critic.
- Ada Stow was a translator.
He spoke French, German and Latin.
- Ada Stow spoke French.
- Ada Stow spoke German.
- Ada Stow spoke Latin.
Water consists of hydrogen and oxygen.
- Water consists of hydrogen.
- Water consists of oxygen.
Mercury is the smallest planet in the Solar System.
- Mercury is the smallest planet in the Solar System.
The Moon orbits the Earth every 27 days.
- The Moon orbits the Earth every 27 days.
Gold does not rust and conducts electricity.
- Gold does not rust.
- Gold conducts electricity.
Penguins cannot fly but swim well.
- Penguins cannot fly.
- Penguins can swim well.
The town has a castle, a market and two churches.
- The town has a castle.
- The town has a market.
- The town has two churches.
The island lies in the North Sea and covers 40 square kilometres.
- The island lies in the North Sea.
- The island covers 40 square kilometres.
Oslo is the capital and largest city of Norway.
- Oslo is the capital of Norway.
- Oslo is the largest city of Norway.
The lake is fed by three rivers and drained by one.
- The lake is fed by three rivers.
- The lake is drained by one.
The war began in 1618 and ended in 1648.
- The war began in 1618.
- The war ended in 1648.
The fire destroyed 300 houses and killed six people.
- The fire destroyed 300 houses.
- The fire killed six people.
The treaty ended the war and gave the island to Norway.
- The treaty ended the war.
- The treaty gave the island to Norway.
Jo Hall, a carpenter from Leith, built the boat.
- Jo Hall built the boat.
- Jo Hall was a carpenter.
- Jo Hall was from Leith.
Her husband, Ivo Lund, was a painter.
- Ada Stow's husband was a painter.
- Ada Stow's husband was Ivo Lund.
She married Ivo Lund, who painted ships, in 1951.
- Ada Stow married Ivo Lund in 1951.
- Ivo Lund painted ships.
The castle, which stands on a hill, was built in 1200.
- The castle was built in 1200.
- The castle stands on a hill.
She gave up law to study music.
- Ada Stow gave up law to study music.
He refused to sign the treaty.
- Ada Stow refused to sign the treaty.
She tried to climb the mountain in 1924 but failed.
- Ada Stow tried to climb the mountain in 1924.
- Ada Stow failed.
He wanted to become a doctor but became a priest.
- Ada Stow wanted to become a doctor.
- Ada Stow became a priest.
The statue was carved from marble and weighs two tonnes.
- The statue was carved from marble.
- The statue weighs two tonnes.
The play was written by Pia Berg and directed by Leo Marsh.
- The play was written by Pia Berg.
- The play was directed by Leo Marsh.
He was arrested in 1936, tried, and sentenced to death.
- Ada Stow was arrested in 1936.
- Ada Stow was tried.
- Ada Stow was sentenced to death.
She lost her sight in 1940 but continued to write.
- Ada Stow lost her sight in 1940.
- Ada Stow continued to write.
He discovered two comets, named five stars and published a catalogue.
- Ada Stow discovered two comets.
- Ada Stow named five stars.
- Ada Stow published a catalogue.
He had two brothers and a sister.
- Ada Stow had two brothers.
- Ada Stow had a sister.
She never married and had no children.
- Ada Stow never married.
- Ada Stow had no children.
She taught chemistry, loved music, and kept bees.
- Ada Stow taught chemistry.
- Ada Stow loved music.
- Ada Stow kept bees.
He studied law at Leith and medicine at Oslo.
- Ada Stow studied law at Leith.
- Ada Stow studied medicine at Oslo.
The novel won the prize and sold a million copies.
- The novel won the prize.
- The novel sold a million copies.
He sailed to Africa in 1850 and to India in 1855.
- Ada Stow sailed to Africa.
- Ada Stow sailed in 1850.
- Ada Stow sailed to India.
- Ada Stow sailed in 1855.
She received the medal in 1965 and the prize in 1970.
- Ada Stow received the medal in 1965.
- Ada Stow received the prize in 1970.
He bought the house in 1910, sold it in 1920, and moved to Oslo.
- Ada Stow bought the house in 1910.
- Ada Stow sold it in 1920.
- Ada Stow moved to Oslo.
The band released two albums and toured Europe.
- The band released two albums.
- The band toured Europe.
The dam holds back the river and supplies the city with power.
- The dam holds back the river.
- The dam supplies the city with power.
She held the record for ten years and retired in 1990.
- Ada Stow held the record for ten years.
- Ada Stow retired in 1990.
He developed the theory of relativity and received the Nobel Prize in Physics in 1921.
- Ada Stow developed the theory of relativity.
- Ada Stow received the Nobel Prize in Physics.
- Ada Stow received the Nobel Prize in 1921.
He began to write in 1890 and finished his first novel in 1895.
- Ada Stow began to write in 1890.
- Ada Stow finished his first novel in 1895.
He was known for his wit and hated war.
- Ada Stow was known for his wit.
- Ada Stow hated war.
She designed ships, built engines, and raced cars.
- Ada Stow designed ships.
- Ada Stow built engines.
- Ada Stow raced cars.
She was a pilot, wrote two books and died in 1970.
- Ada Stow was a pilot.
- Ada Stow wrote two books.
- Ada Stow died in 1970.
He was born in Pisa, studied medicine, and became a professor of mathematics.
- Ada Stow was born in Pisa.
- Ada Stow studied medicine.
- Ada Stow became a professor of mathematics.
He was the first European to reach India by sea.
- Ada Stow was the first European to reach India by sea.
She joined the navy in 1940 and left it in 1946.
- Ada Stow joined the navy in 1940.
- Ada Stow left it in 1946.
The city was founded by the Romans and destroyed by fire in 1204.
- The city was founded by the Romans.
- The city was destroyed by fire.
- The city was destroyed in 1204.
Her mother was a teacher and her father a doctor.
- Ada Stow's mother was a teacher and her father a doctor.
He wrote plays and directed films.
- Ada Stow wrote plays.
- Ada Stow directed films.
She raised sheep, sold wool, and paid her debts.
- Ada Stow raised sheep.
- Ada Stow sold wool.
- Ada Stow paid her debts.
He lost the election in 1950 but won the next one.
- Ada Stow lost the election in 1950.
- Ada Stow won the next one.
The comet appeared in 1682 and returned in 1758.
- The comet appeared in 1682.
- The comet returned in 1758.
She is best known as the author of two novels and a memoir.
- Ada Stow is best known as the author of two novels.
- Ada Stow is best known as the author of a memoir.
He was knighted in 1950 and died two years later.
- Ada Stow was knighted in 1950.
- Ada Stow died two years later.
The university was founded in 1409, closed in 1798 and reopened in 1810.
- The university was founded in 1409.
- The university was closed in 1798.
- The university was reopened in 1810.
Ada Stow, the daughter of a miller, taught herself Greek.
- Ada Stow taught herself Greek.
- Ada Stow was the daughter of a miller.
The volcano erupted in 1902 and killed 30,000 people.
- The volcano erupted in 1902.
- The volcano killed 30,000 people.
She won two gold medals and one silver medal at the 1936 games.
- Ada Stow won two gold medals at the 1936 games.
- Ada Stow won one silver medal at the 1936 games.
The bird eats seeds, berries and insects.
- The bird eats seeds.
- The bird eats berries.
- The bird eats insects.
He lived in Leith, Oslo and Paris.
- Ada Stow lived in Leith.
- Ada Stow lived in Oslo.
- Ada Stow lived in Paris.
The law was passed in 1832 and took effect in 1833.
- The law was passed in 1832.
- The law took effect in 1833.
She was appointed Chief Engineer in 1922 and retired in 1940.
- Ada Stow was appointed Chief Engineer in 1922.
- Ada Stow retired in 1940.
He divorced in 1930 and never remarried.
- Ada Stow divorced in 1930.
- Ada Stow never remarried.
He worked as a clerk and wrote poems at night.
- Ada Stow worked as a clerk.
- Ada Stow wrote poems at night.
The king was captured, tried and executed in 1649.
- The king was captured.
- The king was tried.
- The king was executed in 1649.
She sang in a choir and played the organ.
- Ada Stow sang in a choir.
- Ada Stow played the organ.
She designed the bridge that connects the two islands.
- Ada Stow designed the bridge.
- The bridge connects the two islands.
The ship struck a rock and sank within an hour.
- The ship struck a rock.
- The ship sank within an hour.
Jo Hall was a sailor, explorer and writer who crossed the Pacific in 1790.
- Jo Hall was a sailor.
- Jo Hall was an explorer.
- Jo Hall was a writer.
- Jo Hall crossed the Pacific in 1790.
The first edition sold out in a week and the second in a month.
- The first edition sold out in a week.
- The second edition sold out in a month.
He became king in 1820 and queen's consort in 1830.
- Ada Stow became king in 1820.
- Ada Stow became queen's consort in 1830.
The club won the league in 1960, 1965 and 1971.
- The club won the league in 1960.
- The club won the league in 1965.
- The club won the league in 1971.
Plants absorb carbon dioxide and release oxygen.
- Plants absorb carbon dioxide.
- Plants release oxygen.
Bees live in hives and make honey.
- Bees live in hives.
- Bees make honey.
The region produces wine, olives, and wheat.
- The region produces wine.
- The region produces olives.
- The region produces wheat.
He was the only survivor of the crash.
- Ada Stow was the only survivor of the crash.
She has two brothers, Ivo and Jan.
- Ada Stow has two brothers, Ivo and Jan.
Apple was founded by Steve Jobs, Steve Wozniak and Ronald Wayne in 1976.
- Apple was founded by Steve Jobs.
- Apple was founded by Steve Wozniak.
- Apple was founded by Ronald Wayne.
- Apple was founded in 1976.
"""
"""A sentence, then its facts; "she", "he" and "it" are about Ada Stow."""


def cases() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in PLAIN.strip().splitlines():
        if line.startswith("- "):
            found[list(found)[-1]].append(line[2:])
        else:
            found[line] = []
    return found


def told(text: str) -> list[str]:
    sentence = Sentence(index=0, text=text, start=0, end=len(text))
    made = DECOMPOSER.decompose_sync(Generation(id="g", text=text, topic="Ada Stow"), [sentence])
    return [fact.text for fact in made.facts]


@pytest.mark.parametrize("sentence", cases())
def test_a_plain_sentence_becomes_plain_sentences(sentence):
    assert told(sentence) == cases()[sentence]


UNSURE = [
    "He won the race in 1990 and his brother in 1994.",
    "He initiated programs to protect forests, as well as campaigns to plant trees.",
    "He revealed that he had a hard time in school but found solace in acting.",
]
"""Who won, what "campaigns" or "found" belongs to, is not known."""


@pytest.mark.parametrize("sentence", UNSURE)
def test_where_the_parse_is_in_doubt_the_clause_stays_whole(sentence):
    whole = "Ada Stow" + sentence[2:]
    assert whole in told(sentence)


def test_having_done_is_said_with_a_finite_verb():
    assert "Ada Stow has taught at two schools." in told("She is a writer, having taught at two schools.")


def test_what_is_denied_or_supposed_keeps_its_adjective():
    assert told("She isn't the first Israeli woman in it.") == ["Ada Stow isn't the first Israeli woman in it."]
    (supposed,) = told("If she were in Sweden, she would be a Swedish citizen.")
    assert supposed.startswith("Ada Stow would be a Swedish citizen if")


def test_whole_clauses_between_semicolons_are_read_apart_and_lists_are_not():
    assert told("Her home is Stone Town; the two main islands are Unguja and Pemba.") == [
        "Ada Stow's home is Stone Town.",
        "The two main islands are Unguja.",
        "The two main islands are Pemba.",
    ]
    assert not any("; " in fact for fact in told("She was a chemist; she won the prize in 1950; however, she lost it."))
    assert all(
        fact.split()[0] != "the" for fact in told("The members were Ana Brandt, the chair; Leo Marsh, the clerk.")
    )
