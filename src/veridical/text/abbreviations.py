"""Words that decide whether a full stop ends a sentence. Data only; the rules are in `boundaries`.

All entries are lower-case and without the final stop.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _words("""
    mr mrs ms mx messrs mme mlle dr drs prof profs rev revd fr pres gov sen rep lt col gen maj capt cpt cmdr sgt cpl pvt
    adm hon supt insp det amb atty msgr pte ven
    sr.a sra srta dott dott.ssa sig sigg sig.ra mons exmo exma dhr mevr mej hr fru ing dipl-ing vs viz
    डॉ प्रो पं проф акад гр им ул
""")
"""Stand before a name (or a second half) and never end a sentence, even before a word that often starts one."""

LINKS = _words(
    "dir prod feat arr illus e.g i.e e.g.i a.k.a z.b d.h u.a v.a m.a.w d.w.z p.ej p.es ca cca approx cf bzw sog resp "
    "т.е т.к напр"
)
"""Announce what follows; never end a sentence."""

NUMBERED = _words("""
    no nos nr nro num fig figs vol vols ch chap sec sect eq eqs art arts p pp pg op bk pt ver v ex par para cap tab
    abb bd jg s c ca cca r b d fl est ed n núm n.º jan feb mar apr jun jul aug sep sept oct nov dec circa approx aprox
    рис табл стр род рожд ум
""")
"""Abbreviate something only in front of a number ("no. 7", "b. 1912", "Fig. 2", "Vol. II")."""

CAPITALISED = _words("""
    st ste mt mts ft jr sr inc ltd co corp bros llc plc cia gmbh univ dept dist div assn assoc bldg ave blvd rd hwy pkwy
    ariz calif colo conn mich minn tenn wis natl intl supp
""")
"""The same as `ABBREVIATIONS`, when written with a capital ("Apple Inc.", "King Jr.", "St. Louis")."""

ABBREVIATIONS = _words("""
    etc al et eds trans transl repr rev incl excl dept univ govt assn natl intl vol vols jr sr max min est ibid sp spp
    subsp var cv syn mss ms ret orig lit esp hist usw evtl ggf inkl zzgl geb gest verh nat bijv enz evt geb overl
    гг руб др проч ecc cfr tel pag págs pág aprox ud uds ee uu av
""")
"""End a sentence only before a word that often starts one (`STARTERS`)."""

STARTERS = _words("""
    he she it they we you the this that these those a an his her their its our my there here
    in on at after before during since when while as from by for with although though however despite following
    throughout according additionally furthermore moreover also both many some most several all if then today later
    born upon under over between among until who what where why how but and or so yet because once his hers both
    another other one such each every not now still eventually initially finally meanwhile subsequently
    er sie es der die das ein eine im am nach seit als seine ihre sein ihr il elle ils elles le la les un une en dans
    après son sa ses el los las una él ella su sus después lui lei egli essa lo gli nel nella dopo ele ela o os as no na
    seu sua hij zij ze het een de zijn haar na sinds он она оно они в во на после его ее её их это этот был была с
""")
"""Words that often start a sentence; with a capital they do after an abbreviation too ("in Washington, D.C. He")."""

ORDINAL_CONTEXT = _words("""
    am vom im der den des dem zum zur bis das die ab seit und oder ende anfang mitte januar februar märz april mai juni
    juli august september oktober november dezember jahrhundert jahrhunderts jh
""")
"""German words around an ordinal number such as "am 3. Mai" or "im 19. Jahrhundert", whose stop ends nothing."""

DOMAINS = _words(
    "com net org edu gov mil info io ai js co uk de fr eu ru cn jp py ts md txt pdf html php asp net fm tv"
)
"""What follows a stop inside a name of the net or a file, whatever its case ("Booking.Com")."""

PUNKT_INITIALS = _words("""
    a.a a.c a.d a.g a.h a.m a.m.e a.s a.t b.f b.v c.i.t c.o.m.b c.v d.c d.h d.w e.f e.h e.l e.m f.g f.j g.d g.f
    g.k h.c h.f h.m i.m.s j.b j.c j.j j.k j.p j.r l.a l.f l.p m.b.a m.d.c m.j n.c n.d n.h n.j n.m n.v n.y p.a.m
    p.m ph.d r.a r.h r.i r.j r.k r.t s.a s.a.y s.c s.g s.p.a s.s t.j u.k u.n u.s u.s.a u.s.s.r w.c w.r w.va w.w
""")
"""Joined initials that the English Punkt model (Kiss and Strunk 2006) learnt; after others it breaks."""
