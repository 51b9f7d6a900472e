"""Words that the messy tables are written with."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words(
    "anna ben clara david elif farid greta hugo ines jonas kemal lena marta nils olga pavel rosa samir tess umar vera "
    "wim xenia yusuf zoe"
)
LAST_NAMES = _words(
    "adler brandt costa dubois eriksen ferrari garcia haas ivanov jansen keller lopez moreau novak okafor petrov "
    "quint rossi silva tanaka ulrich vogel weber ximenes yilmaz zeman"
)
CITIES = _words("Lisbon Bergen Krakow Turin Ghent Porto Graz Leeds Malmo Vilnius Nantes Zadar")
SHARED = _words(
    "the a of and to in for with on from by about after before during between over under many few some most other "
    "same new old good long short early late first last next small large great common recent public local open whole "
    "simple year week month day time way part place point case line side end start number group people person city "
    "country world house street team work report story view idea question answer change result reason plan step rule "
    "says shows gives takes makes finds keeps brings opens starts ends helps needs wants reaches follows remains"
)
SECTIONS = {
    "sport": _words(
        "match goal coach league season player stadium referee penalty sprint medal champion tournament defender "
        "striker training fitness marathon tennis football cycling relay keeper transfer derby cup final score racket "
        "swimmer"
    ),
    "culture": _words(
        "museum gallery novel poet theatre opera painter exhibition orchestra cinema director actor sculpture "
        "festival stage melody author chapter canvas premiere concert choir dance drama critic portrait curator "
        "script rehearsal verse"
    ),
    "economy": _words(
        "market stock inflation bank interest budget tax export tariff wage profit investor bond currency merger "
        "startup supply demand trade deficit growth factory retail loan mortgage shareholder revenue pension auction "
        "insurance"
    ),
    "science": _words(
        "laboratory genome particle telescope experiment protein climate neuron galaxy vaccine quantum fossil "
        "molecule physics biology chemist theory dataset orbit reactor enzyme microscope hypothesis satellite "
        "bacteria laser algorithm crystal species probe"
    ),
    "travel": _words(
        "beach hotel flight island hiking passport luggage ferry harbour mountain trail souvenir itinerary hostel "
        "airport cruise guide sunset village camping coast lagoon temple railway compass valley voyage map tent "
        "waterfall"
    ),
}
TAGS = _words(
    "chess hiking jazz vinyl sailing baking coding knitting climbing poetry football running opera gaming surfing "
    "gardening cycling theatre yoga photography fishing painting drones pottery karate astronomy coffee travel comics "
    "volunteering films dancing birding robots history languages tea camping magic skating"
)
BIO = _words(
    "living loving trying learning always never often maybe coffee mornings evenings music books friends family dogs "
    "cats cities trains bread weather sea sunshine quiet loud stories maps"
)
PLAIN_NOTES = (
    "salary account",
    "joint account",
    "student",
    "savings",
    "pays by card",
    "long time client",
    "moved last year",
    "called twice",
    "rent",
)
ODD_NOTES = ("urgent gift", "asked for limits", "new phone", "several logins", "vip")
