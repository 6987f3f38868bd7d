"""Relations: which spellings of a predicate state the same, and which values exclude each other.

Everything here is declared, as data: a spelling that is not listed states a relation of its own,
which replaces nothing and which only a denial of the same words contradicts. Likeness of words or
of vectors is never asked.

A *relation* is a predicate in the form in which it is compared. A *family* is a set of relations
that state one thing ("lives in", "moved to"), so that a new value of one replaces the old value of
another. An *ender* is a relation that says of a value that it is over ("moved out of", "quit").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from graphmem.identity import normal_form
from graphmem.times import MONTH_NUMBERS, WEEKDAYS
from graphmem.types import Triple

__all__ = [
    "DATES",
    "DETERMINERS",
    "FAMILIES",
    "SINGLE_VALUED",
    "Family",
    "Reading",
    "Relation",
    "affirmed",
    "key",
    "read",
    "relation",
]


@dataclass(frozen=True, slots=True)
class Relation:
    """A predicate as it is compared.

    Attributes:
        name: in normal form, without underscores, "now" and "currently", with contractions spelled
            out; a denial is taken out of it.
        flips: whether a denial was ("is no longer", "does not eat"): the triple states the
            opposite of what its polarity says of ``name``.
    """

    name: str
    flips: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Relations that state one thing.

    A spelling is a predicate; an "is" before a preposition may be missing ("employed by"), and what
    ends in "noun is" is also told by the noun ("employer", "has new employer", "employer changed
    to"). ``*`` in it stands for one word that does not look like a plural; a
    kind in brackets at its end (``(date)``, ``(diet)``, ``(age)``, ``(amount)``) asks that the
    object is one.

    Attributes:
        name: what it is about; where a spelling has a ``*``, its words are part of the name.
        spellings: predicates from the subject to its value.
        inverse: predicates from the value to the subject.
        enders: predicates that say of a value that it is over.
        opposes: families whose values for the same two ends this one contradicts.
        is_single: whether a subject has one value at a time.
        is_mutual: whether it holds both ways: who ends it may be either of the two.
    """

    name: str
    spellings: tuple[str, ...]
    inverse: tuple[str, ...] = ()
    enders: tuple[str, ...] = ()
    opposes: tuple[str, ...] = ()
    is_single: bool = True
    is_mutual: bool = False


def _attribute(name: str, *more: str, enders: tuple[str, ...] = ()) -> Family:
    """A family of a noun: "phone number is", "has phone number"."""
    spellings = (f"{name} is", f"has {name}", f"new {name} is", f"has new {name}")
    # One word alone may be a verb: "rents".
    bare = (name,) if " " in name else ()
    # A name of its own: a relation may be called as the noun is.
    inverse = tuple(f"is {which}{name} of" for which in ("", "the ", "new ", "the new ", "now "))
    return Family(f"{name} of one", (*bare, *spellings, *more), inverse, enders)


def _office(name: str, *inverse: str) -> Family:
    """A family of an office that one holds at a time; "was elected mayor of" is told by a rule."""
    spellings = (f"{name} is", f"has {name}", f"new {name} is", f"has new {name}")
    return Family(f"office of {name}", spellings, inverse)


# fmt: off
_OFFICES = (
    "ceo", "cto", "cfo", "president", "prime minister", "chancellor", "mayor", "king", "queen",
    "pope", "head coach", "coach", "captain", "chair", "chairman", "chairwoman", "chairperson",
    "chief executive", "managing director", "director", "headmaster", "headmistress",
    "principal", "dean", "treasurer", "editor-in-chief",
)
FAMILIES: tuple[Family, ...] = (
    Family(
        "residence",
        ("lives in", "lives at", "lives on", "is living in", "is living at", "resides in",
         "resides at", "is residing in", "moved to (place)", "has moved to (place)",
         "moved into (place)", "has moved into (place)",
         "moved back to (place)", "has moved back to (place)", "relocated to (place)",
         "has relocated to (place)", "settled in",
         "home is", "home is in", "new home is", "new home is in", "home address is", "address is",
         "new address is", "has address", "has new address", "lives again in", "lives back in",
         "residence is", "residence is in", "has residence in", "place of residence is",
         "city of residence is", "city is"),
        inverse=("is address of", "is the address of", "is new address of", "is home address of",
                 "is home of", "is new home of"),
        enders=("moved from", "has moved from", "moved away from", "has moved away from",
                "moved out of", "has moved out of", "moved out from", "left", "has left",
                "relocated from"),
    ),
    Family(
        "seat",
        ("is based in", "is headquartered in", "has headquarters in", "has its headquarters in",
         "headquarters is in", "headquarters are in", "has head office in", "head office is in",
         "moved headquarters to", "moved its headquarters to", "relocated headquarters to",
         "relocated its headquarters to"),
        enders=("moved from", "moved away from", "moved out of", "relocated from"),
    ),
    Family(
        "employer",
        ("works at", "works for", "job is at", "new job is at", "new job is with", "has job at",
         "has job with", "has a job with", "has new job at", "has a new job with", "was hired by",
         "is hired by", "has been hired by", "got hired by", "was hired at", "is employed with",
         "found work at",
         "found a job at", "found a new job at", "changed jobs to", "switched jobs to",
         "starts work at", "started a job with", "started a new job with", "is working at",
         "is working for", "is employed by",
         "is employed at", "employer is", "new employer", "new employer is", "has employer",
         "has new employer", "got a job at", "has got a job at", "got a job with", "got a job for",
         "got a new job at", "got a new job with", "has a job at", "has a new job at",
         "took a job at", "took a new job at", "accepted a job at", "started a job at",
         "started a new job at", "started working at", "started working for",
         "has started working at", "has started working for", "starts working at",
         "starts working for", "started work at", "will work at", "will work for",
         "will start working at", "will start working for"),
        inverse=("employs", "is employer of", "is the employer of"),
        enders=("left", "has left", "is leaving", "quit", "has quit", "quit job at",
                "switched from",
                "moved from", "changed from", "no longer employed by", "was sacked by",
                "was sacked from", "was made redundant by", "handed in notice at", "gave notice at",
                "quit his job at", "quit her job at", "quit their job at", "left job at",
                "left his job at", "left her job at", "left their job at", "lost job at",
                "lost his job at", "lost her job at", "resigned from", "has resigned from",
                "retired from", "has retired from", "was fired from", "was fired by",
                "was laid off by", "was laid off from", "was let go by", "was dismissed by"),
    ),
    Family(
        "job",
        ("job is", "new job is", "has job", "has new job", "job title is", "has job title",
         "works as", "is working as", "is employed as", "will work as", "has job as",
         "has new job as", "got a job as", "got a new job as", "profession is", "occupation is",
         "is promoted to", "was promoted to", "has been promoted to", "got promoted to"),
        enders=("stopped working as", "quit as", "resigned as", "retired as"),
    ),
    Family(
        "spouse",
        ("is married to", "got married to", "spouse is", "has spouse", "husband is", "wife is",
         "has husband", "has wife", "married", "has married", "remarried"),
        inverse=("is husband of", "is wife of", "is spouse of", "is the husband of",
                 "is the wife of"),
        enders=("divorced", "has divorced", "is divorced from", "got divorced from",
                "separated from", "is separated from", "has separated from"),
        is_mutual=True,
    ),
    Family(
        "partner",
        ("is girlfriend of", "is boyfriend of", "is partner of", "is dating", "is going out with",
         "is engaged to", "is together with", "is in a relationship with"),
        enders=("broke up with", "has broken up with", "split up with", "has split up with",
                "split from", "separated from", "broke off engagement with",
                "broke off engagement to", "called off engagement to", "is ex-partner of",
                "is ex-girlfriend of", "is ex-boyfriend of", "is the ex of", "is ex of"),
        is_single=False, is_mutual=True,
    ),
    Family(
        "boss",
        ("reports to", "boss is", "new boss is", "has boss", "has new boss", "manager is",
         "new manager is", "has manager", "has new manager", "line manager is"),
        inverse=("is boss of", "is the boss of", "is new boss of", "is the new boss of",
                 "is line manager of", "became boss of", "will become boss of", "is manager of",
                 "is the manager of", "is new manager of", "is the new manager of",
                 "became manager of"),
    ),
    Family(
        "assignment",
        ("is assigned to", "was assigned to", "has been assigned to", "got assigned to",
         "is reassigned to", "was reassigned to", "has been reassigned to", "was transferred to",
         "has been transferred to", "is allocated to", "is staffed on", "is seconded to"),
        enders=("moved from", "was moved from", "has been moved from", "moved off", "left",
                "was transferred from", "was taken off", "was removed from", "is off",
                "was reassigned from"),
    ),
    Family(
        "builder",
        ("builder is", "new builder is", "has builder", "has new builder"),
        inverse=("is builder of", "is the builder of", "is new builder of",
                 "is the new builder of"),
    ),
    Family(
        "diet",
        ("is (diet)", "has been (diet)", "became (diet)", "has become (diet)", "went (diet)",
         "has gone (diet)", "turned (diet)", "diet is", "follows (diet)", "follows diet",
         "is on (diet)", "eats (diet)", "dietary preference is"),
        enders=("stopped being", "gave up being"),
    ),
    Family("name", ("name is", "new name is", "full name is", "has full name", "is called",
                    "is now called", "is named", "is renamed", "is renamed to", "was renamed",
                    "was renamed to", "has been renamed", "has been renamed to"),
           inverse=("is name of", "is the name of")),
    Family("weight", ("weighs (amount)", "weight is", "has weight of (amount)")),
    Family("height", ("height is", "is tall (amount)")),
    Family("age", ("age", "age is", "has age", "is aged", "is (age)", "turned (amount)",
                   "has turned (amount)", "is turning (amount)")),
    Family("birthday", ("birthday is", "has birthday", "birthday is on", "was born on",
                        "is born on", "date of birth is")),
    _attribute("time zone", "timezone is"),
    _attribute("phone number", "phone is", "mobile number is", "telephone number is"),
    _attribute("email address", "email is", "has email", "e-mail is", "e-mail address is"),
    *(_attribute(name) for name in (
        "surname", "last name", "first name", "nickname", "username", "user name", "postcode",
        "zip code", "home town", "hometown", "room number", "flat number", "password", "passcode",
        "pin", "door code", "code", "licence plate", "license plate", "account number",
        "blood type", "shoe size", "dress size", "opening time", "closing time", "start time",
        "departure time", "meeting point", "next appointment", "gate", "platform",
        "marital status", "relationship status",
    )),
    # One has one of each at a time; who has two tells so in other words.
    *(_attribute(name) for name in (
        "dentist", "doctor", "gp", "therapist", "psychiatrist", "landlord", "landlady", "lawyer",
        "solicitor", "accountant", "hairdresser", "vet", "supervisor", "tutor", "mentor",
        "piano teacher", "driving instructor", "personal trainer",
    )),
    _attribute("version", "runs version", "is on version", "is at version"),
    _attribute("status"),
    _attribute("budget"),
    _attribute("salary"),
    _attribute("rent", "pays rent of"),
    _attribute("price", "costs (amount)", "is priced at", "now costs (amount)"),
    Family("favorite", ("favourite is", "favourite *", "favourite * is", "favourite * * is",
                        "favourite * * *", "favourite * * * is",
                        "has favourite *", "has favourite * *", "new favourite * is",
                        "new favourite * * is", "has new favourite *", "has new favourite * *"),
           inverse=("is favourite * of", "is the favourite * of", "is new favourite * of",
                    "is favourite * * of", "is the favourite * * of")),
    Family("preferred", ("preferred *", "preferred * is", "has preferred *")),
    # Of what is called so there is one.
    Family("current", ("current *", "current * is", "current * * is", "has current *"),
           inverse=("is current * of", "is the current * of", "is current * * of")),
    Family("main", ("main *", "main * is", "main * * is", "has main *", "primary *",
                    "primary * is", "primary * * is", "has primary *"),
           inverse=("is main * of", "is the main * of", "is primary * of")),
    Family("colour", ("colour is", "color is", "is painted", "will be painted", "was painted",
                      "has been painted", "is going to be painted", "is painted in")),
    Family(
        "date",
        ("is on (date)", "will be on (date)", "is set for (date)", "takes place on (date)",
         "will take place on (date)", "is taking place on (date)", "is scheduled for (date)",
         "is scheduled on (date)", "is planned for (date)", "was moved to (date)",
         "is moved to (date)", "has been moved to (date)", "moved to (date)",
         "is postponed to (date)", "was postponed to (date)", "is rescheduled to (date)",
         "was rescheduled to (date)", "rescheduled for (date)", "is (date)", "was pushed to (date)",
         "was pushed back to (date)", "was brought forward to (date)", "was changed to (date)",
         "is extended to (date)", "was extended to (date)", "has been extended to (date)",
         "has been postponed to (date)", "has been rescheduled to (date)", "will be (date)",
         "is postponed until (date)", "was postponed until (date)", "is pushed to (date)",
         "is pushed back to (date)", "is brought forward to (date)", "is changed to (date)",
         "date is", "new date is",
         "has date", "has new date"),
    ),
    Family("time", ("is at (clock)", "starts at (clock)", "begins at (clock)",
                    "will start at (clock)", "will be at (clock)", "was moved to (clock)",
                    "has been moved to (clock)", "moved to (clock)", "is moved to (clock)",
                    "time is (clock)")),
    Family("opening", ("opens at (clock)",)),
    Family("closing", ("closes at (clock)",)),
    Family("departure", ("departs at (clock)",)),
    Family("open", ("is open on",), opposes=("closed",), is_single=False),
    Family("closed", ("is closed on",), opposes=("open",), is_single=False),
    Family("deadline", ("deadline is", "new deadline is", "has deadline", "is due on (date)",
                        "is due by (date)", "is due (date)", "due date is")),
    Family("start", ("starts on (date)", "will start on (date)", "begins on (date)",
                     "start date is")),
    Family("arrival", ("will arrive on (date)", "arrives on (date)", "is arriving on (date)")),
    *map(_office, _OFFICES),
    _office("leader", "leads", "heads", "is lead of", "is in charge of", "is head of"),
    Family("venue", ("takes place in", "takes place at", "will take place in",
                           "will take place at", "is held in", "is held at", "will be held in",
                           "will be held at", "is being held in", "is being held at")),
    Family("parking", ("is parked on", "is parked in", "is parked at")),
    Family("capital", ("capital is", "has capital", "capital city is"),
           inverse=("is capital of", "is the capital of")),
    Family(
        "likes",
        ("likes", "loves", "enjoys", "adores", "is fond of", "is a fan of", "likes to eat",
         "likes eating", "loves eating", "is into", "is keen on", "is interested in",
         "came to like", "came to love", "came to enjoy", "has come to like", "has come to love",
         "has come to enjoy", "has grown to like", "has grown to love", "grew to like",
         "grew to love", "learned to like", "learned to love", "has learned to like",
         "has learned to love", "warmed to", "has warmed to"),
        enders=("went off", "has gone off", "lost interest in", "has lost interest in",
                "grew tired of", "has grown tired of", "is tired of", "is sick of",
                "is fed up with",
                "got bored of", "is bored of", "is over"),
        opposes=("dislikes",), is_single=False,
    ),
    Family(
        "dislikes",
        ("dislikes", "hates", "detests", "loathes", "can not stand", "can not bear",
         "started hating", "came to hate", "has come to hate"),
        opposes=("likes",), is_single=False,
    ),
    Family(
        "habit",
        ("eats", "drinks", "smokes", "takes", "uses", "plays", "does", "practises", "practices",
         "goes to", "attends", "is reading", "is learning", "is studying", "studies"),
        enders=("gave up", "has given up", "quit", "has quit", "stopped", "has stopped", "dropped",
                "has dropped", "stopped eating", "stopped drinking", "stopped using",
                "finished with", "is off", "came off", "has come off", "switched from",
                "cancelled", "dropped out of", "has dropped out of"),
        is_single=False,
    ),
    Family(
        "membership",
        ("is a member of", "is member of", "joined", "has joined", "belongs to", "plays for",
         "plays in", "sings in", "is subscribed to", "subscribes to", "has subscription to",
         "has membership at", "has membership of", "has membership in", "is enrolled at",
         "is enrolled in", "studies at", "is studying at", "is a student at", "is student at",
         "volunteers at", "volunteers for", "is signed up for", "is on", "is in", "is part of",
         "is on the board of", "sits on", "serves on",
         "signed up for"),
        enders=("left", "has left", "quit", "has quit", "is leaving", "resigned from",
                "unsubscribed from", "has unsubscribed from", "cancelled", "has cancelled",
                "cancelled subscription to", "cancelled his subscription to",
                "cancelled her subscription to", "cancelled membership at",
                "cancelled membership of", "cancelled membership in", "dropped out of",
                "has dropped out of", "graduated from", "has graduated from", "was expelled from",
                "withdrew from", "has withdrawn from", "deregistered from"),
        is_single=False,
    ),
    Family(
        "property",
        ("owns", "has", "has got", "bought", "drives", "rents", "keeps"),
        enders=("sold", "has sold", "gave away", "has given away", "got rid of",
                "has got rid of", "threw away"),
        is_single=False,
    ),
)
"""What is declared. Facts of one family with one subject compete where it is single-valued."""

_DIETS = frozenset({
    "vegan", "vegetarian", "pescatarian", "pescetarian", "omnivore", "omnivorous", "flexitarian",
    "carnivore", "lacto-vegetarian", "ovo-lacto vegetarian", "fruitarian", "raw vegan",
    "plant-based", "meat eater", "meat-eater",
})
_CONTRACTED = {
    "isn't": "is not", "aren't": "are not", "doesn't": "does not", "don't": "do not",
    "won't": "will not", "can't": "can not", "cannot": "can not", "isnt": "is not",
    "doesnt": "does not", "dont": "do not", "hasn't": "has not", "haven't": "have not",
}
_SAME = {
    "am": "is", "are": "is", "have": "has", "do": "does", "were": "was", "go": "goes",
    "be": "is", "been": "is", "being": "is", "going": "goes", "doing": "does", "having": "has",
}
# They end as verbs do that go on.
_NO_VERBS = frozenset({
    "evening", "morning", "spring", "string", "ceiling", "building", "wedding", "painting",
    "clothing", "something", "nothing", "anything", "everything", "earring", "darling",
})
_OFFICE_NAMES = (*_OFFICES, "leader")
_HELD = re.compile(
    r"(?:(?:is|becam|becom|has becom|has become|was mad|was made|was nam|was named|was elected|"
    r"was appointed|will be|took over as) )?(?:the )?(?:new |acting )?"
    rf"({'|'.join(map(re.escape, _OFFICE_NAMES))}) (?:of|at|for)"
)
DETERMINERS = ("a", "an", "the", "my", "your", "his", "her", "its", "our", "their")
"""Words before a name that are none of it where values are compared."""

_DETERMINED = re.compile(rf"^(?:{'|'.join(DETERMINERS)}) (?=\S)")
# What is in one of these is no home.
_UNITS = re.compile(r"\b(?:project|team|department|dept|group|squad|division|section|unit|desk|"
                    r"shift|role|position|post|class|course|branch|sprint|phase|grade)\b")
# fmt: on

DATES = frozenset({"date", "time", "deadline", "start", "arrival", "birthday"})
"""Families whose values are dates themselves: they tell when something is, not since when."""

SINGLE_VALUED: frozenset[str] = frozenset(
    spelling
    for family in FAMILIES
    if family.is_single
    for spelling in (*family.spellings, *family.inverse)
)
"""Predicates of which a subject has one value at a time: a newer value replaces the older.

Declared, never guessed: whatever is not here replaces nothing. Spelled as in ``Family``; what is in
one family competes with each other. ``SINGLE_VALUED | {"drives"}`` declares more.
"""

# Who cannot do that dislikes.
_ENDURED = frozenset({"can stand", "can bear"})
_IDLE = frozenset({
    "now", "currently", "presently", "still", "recently", "actually", "really", "finally",
    "officially", "newly",
})  # fmt: skip
# "has since moved to", "just moved to"; "is not just" denies nothing.
_IDLE_THERE = re.compile(
    r"(?<=\bhas )since (?=\w)|(?<=\bhave )since (?=\w)|(?<!\bnot )\bjust (?=\w)"
)
# "now called"
_NOW = re.compile(r"\A(?:now|currently) (?=(?:called|named|painted|closed)\b)")
# "colour" as "color"
_AMERICAN = re.compile(r"\b(favo|colo|flavo)u(?=r)")
# "worksAt"
_JOINED = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FORMERLY = re.compile(r"(?:has |have |had )?\b(?:formerly|previously) | (?:formerly|previously)\b")
# What an "is" may be left out before: "allergic to", "employed by", "member of". These few words
# say something else without it.
_WITHOUT_IS = re.compile(
    r"(?:an? |the )?(?!(?:used|painted|called|closed|moved|relocated)\b)"
    r"(\S.* (?:of|in|at|on|by|to|for|with|from|until))"
)
# Around a noun: "has new", "current".
_LEAD = re.compile(r"\A(?:has (?:an? )?|the (?=new |current ))?(?:(?:new|current|present) )?")
_KIND = re.compile(r"(.*) \((\w+)\)")
_SINCE = re.compile(r"(?:has|have) been (.+) since")
_OWNED = re.compile(r"(?P<owner>.+)(?:'s|(?<=s)') (?P<thing>.+)")
_OF = re.compile(r"(?:the )?(?P<thing>.+?) of (?P<owner>.+)")
_TITLE = re.compile(r"(?:an? |the )?(?:new |current )?(?P<thing>.+?) of (?P<owner>.+)")
_POINTING = frozenset("today tomorrow this that it here there".split())
# "quit Ana's job at" is to be read as "quit job at".
_ONES_OWN = re.compile(r"\b(?:his|her|its|their|my|our|\S+'s) (?=(?:job|position|membership) )")
# Of a job one leaves who gives it: "quit" and "her job at Acme".
_PLACE_AT = re.compile(
    r"(?:.+'s? |\S+ )?(?:job|position|role|post|subscription|membership)"
    r" (?:at|with|for|to|of|in) (.+)"
)
# What is told of a thing, may be told of its date or address: "the deadline is on Friday".
_OF_ANYTHING = ("date", "time", "residence")
_MUTUAL = frozenset(family.name for family in FAMILIES if family.is_mutual)
_FROM_TO = re.compile(r"(.+?) to (.+)")
# "moved from Oslo to" and "Bergen"
_MOVED = re.compile(r"(\S+(?: \S+){0,2} from) (.+) to")
_HOME_MOVED = re.compile(r"(?:has |have )?(?:moved|relocated)(?: \w+)? from")
_CALLED_OFF = re.compile(
    r"(?:has |have )?(?:cancelled|canceled|called off) (?:(?:his|her|its|their|the) )?"
    r"(.+ (?:with|to|at|of|for|in|on))"
)
_BECAME = re.compile(
    r"(?:(?:is|was|has|has been|will be|got) )?(?:(?:changed|updated|reset|set|raised|increased|"
    r"lowered|reduced|cut|extended|postponed|rescheduled|delayed|moved|pushed(?: back| out)?|"
    r"brought forward|bumped up|went up|gone up|went down|gone down|rose|risen|dropped|fell|fallen)"
    r" (?:to|until)|becom(?:e|es)|became|replaced (?:by|with))"
)
# "deadline was moved to", "email is"
_TURNED = re.compile(rf"(?P<noun>.+?) (?:is|{_BECAME.pattern})")
# Nouns that are verbs, too: alone they are the noun where a number or an address follows.
_VERBS_TOO = frozenset(
    "rent price code pin coach chair captain mentor tutor email phone head lead vet name age time"
    " date home start".split()
)
_MARKED = re.compile(r"[\d@]")
_INSTEAD = re.compile(r"(.+?),? (?:instead of|rather than|and not|not) (.+)")
_MAY_INSTEAD = re.compile(r" (?:instead of|rather than|not) ")
_AGE = re.compile(r"\S+ (?:years?|months?) old")
_CLOCK = re.compile(r"(?:\d{1,2}(?:[:.h]\d{2})?(?: ?(?:am|pm|a\.m|p\.m|o'clock))?|noon|midnight)")
_ISO_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_WORD = re.compile(r"[^\W_]+")
_MONTH_WORDS = frozenset(MONTH_NUMBERS)
_WEEKDAYS = frozenset(WEEKDAYS)
_DATE_WORDS = (
    _MONTH_WORDS
    | _WEEKDAYS
    | frozenset(
        "the of on at in from am pm next this coming morning afternoon evening noon".split()
    )
)
_DAY_OF_MONTH = re.compile(r"(?:the )?\d{1,2}(?:st|nd|rd|th)")
# "was not" and "has not" tell of the past, and "must not" is no denial of "must".
_DENIAL = re.compile(
    r"(?P<none>(?:has|have)) (?:no(?= \w)|no\Z|not\Z)|\bnever had\Z|"
    r"(?P<is>\b(?:is|are|am|will|can)) not\b(?! (?:only|just|stand|bear)\b)"
    r"|\b(?P<do>does|do) (?:not\b(?! (?:only|just)\b)|no longer|never) (?P<verb>\w+)"
    r"|\b(?:no longer|never)\b|\Anot (?!(?:only|just)\b)(?=\w)"
)
_LEFT_OVER = re.compile(r"\b(?:any ?more|any longer)\b")
_TAIL = re.compile(r"[,\s]+(?:any ?more|any longer)\W*\Z", re.IGNORECASE)
_OVER = re.compile(r"(?:used to|(?:has |have )?(?:stopped|quit|ceased|gave up|given up))(?: |\Z)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a triple states, however it is spelled.

    Attributes:
        names: the relation, or its family: two of one name state the same.
        subject, object: normal forms; for an inverse spelling the other way round.
        polarity: whether it is so, with the denial that the predicate holds.
        is_single: whether a subject has one value at a time of the first name.
        denies: names of what it says is not so, or is over, of ``subject`` and ``denied``.
        denied: normal form of the value that is denied.
        is_event: whether what it denies is over by what it tells ("left"), and not by its being
            said: an event stays true, whatever is said later.
        is_mutual: whether what it states or denies holds both ways.
    """

    names: tuple[str, ...]
    subject: str
    object: str
    polarity: bool = True
    is_single: bool = False
    denies: tuple[str, ...] = ()
    denied: str = ""
    is_event: bool = False
    is_mutual: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """A family that a relation belongs to.

    Attributes:
        family: the family, or ``None`` for a relation that the caller declared.
        name: its name, with the words that stand for ``*``.
        kind: of the object; ``""`` is any.
        is_inverse: whether the ends change places.
        is_single: whether the spelling is declared single-valued.
    """

    family: Family | None
    name: str
    kind: str = ""
    is_inverse: bool = False
    is_single: bool = False


@lru_cache(maxsize=1 << 14)
def relation(predicate: str) -> Relation:
    """The predicate as it is compared, and whether it denies.

    "is no longer", "does not eat", "never drinks", "will not run … any more" are denials; what
    tells of the past ("did not go", "has not been") or forbids ("must not") is none.
    """
    text = _plain(predicate)
    bare, found = _DENIAL.subn(_affirmed, text)
    if not found:
        return Relation(text)
    name = " ".join(_LEFT_OVER.sub(" ", bare).split())
    return Relation(name, found % 2 == 1) if name else Relation(text)


def affirmed(triple: Triple) -> Triple:
    """A triple whose predicate denies as one of opposite polarity: "is no longer" as not "is".

    So a denial and what it denies differ in polarity alone. Others are left as they are written.
    """
    told = relation(triple.predicate)
    polarity = triple.polarity != told.flips
    changed = triple
    if told.flips and ", " not in triple.predicate:
        changed = replace(changed, predicate=told.name, polarity=polarity)
    bare = "" if polarity else _TAIL.sub("", triple.object)
    return replace(changed, object=bare) if bare and bare != triple.object else changed


def _plain(predicate: str) -> str:
    if " " not in predicate:
        predicate = _JOINED.sub(" ", predicate.replace("_", " "))
    text = _AMERICAN.sub(r"\1", normal_form(predicate.replace("_", " ")))
    text = _NOW.sub("is ", text)
    # An object belongs to the clause that it follows: "eats fish but no meat, is now".
    text = text.rpartition(", ")[2]
    text = " ".join(_CONTRACTED.get(word, word) for word in text.split() if word not in _IDLE)
    return _IDLE_THERE.sub("", text)


def _affirmed(found: re.Match[str]) -> str:
    if found["none"] or found[0] == "never had":
        return "has"
    if found["is"]:
        return found["is"]
    if not found["do"]:
        return " "
    return _third_person(found["verb"]) if found["do"] == "does" else found["verb"]


def _third_person(verb: str) -> str:
    if verb in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def key(subject: str, predicate: str, object_: str, polarity: bool) -> tuple[str, str, str, str]:
    """What a triple says, one key for all its spellings: subject, relation, object, ``+`` or ``-``.

    Ends are in normal form; the relation is the family's name where there is one, and the ends of
    an inverse spelling have changed places.
    """
    said = read(subject, predicate, object_, polarity)
    return said.subject, said.names[0], said.object, "+" if said.polarity else "-"


# A fact is read when it is stored, when its rivals are sought and when it contests.
@lru_cache(maxsize=1 << 14)
def read(
    subject: str,
    predicate: str,
    object_: str,
    polarity: bool = True,
    single_valued: frozenset[str] = SINGLE_VALUED,
) -> Reading:
    """What a triple states by the declared families.

    Args:
        subject: of the triple.
        predicate: of the triple.
        object_: of the triple.
        polarity: of the triple.
        single_valued: spellings that have one value at a time; see ``SINGLE_VALUED``.
    """
    plan = _plan(predicate, single_valued)
    if not polarity and plan.name in _ENDURED:
        return read(subject, f"can not {plan.name[4:]}", object_, True, single_valued)
    subject, value = normal_form(subject), plan.value or normal_form(object_)
    if plan.left:
        value = f"{plan.left} to {value}"
    instead = _INSTEAD.fullmatch(value) if _MAY_INSTEAD.search(value) else None
    entry, fitted = _fitting(plan.entries, instead[1] if instead else value)
    value = value if instead else fitted
    if plan.is_of_attribute and (entry is None or entry.name in _OF_ANYTHING):
        found, owner, said_of = _of_attribute(subject, value, single_valued)
        if found is None and entry is None:
            found, owner, said_of = _of_title(subject, value, single_valued)
        if found:
            entry, subject, value = found, owner, said_of
    if entry is None:
        names: tuple[str, ...] = (plan.compared,)
    elif entry.is_single or (entry.family and entry.family.opposes):
        names = (entry.name,)
    else:
        names = (plan.compared, entry.name)
    if entry and entry.is_inverse:
        subject, value = value, subject
    said = Reading(
        names,
        _bare(subject),
        _bare(value),
        polarity != plan.flips,
        bool(entry and entry.is_single),
        is_mutual=bool(entry and entry.family and entry.family.is_mutual),
    )
    return _with_denial(said, plan, entry)


def _bare(name: str) -> str:
    """A name without the article or the owner that a sentence gave it: "a boat", "her boat"."""
    return _DETERMINED.sub("", name) or name


def _of_attribute(
    subject: str, value: str, declared: frozenset[str]
) -> tuple[_Entry | None, str, str]:
    """What "is" states of a thing that belongs to another, with its owner and the value.

    "Ana's favourite colour is red" is about Ana, "the wifi password is 1234" about the wifi, and
    "the password is 1234" about the password.
    """
    owned = _OWNED.fullmatch(subject) or _OF.fullmatch(subject)
    if owned:
        owner, thing = owned["owner"], owned["thing"]
        entry, found = _entry(f"{_plain(thing)} is", value, declared)
        if entry and entry.is_single:
            return entry, owner, found
    said = _LEAD.sub("", subject, count=1).split()
    for start in range(max(0, len(said) - 3), len(said)):
        # Of "the king" one can say much; what has a number is the thing's own.
        owner = " ".join(said[:start]) if said[:start] not in ([], ["the"]) else ""
        entry, found = _entry(f"{_plain(' '.join(said[start:]))} is", value, declared)
        if (owner or any(map(str.isdigit, value))) and entry and entry.is_single:
            return entry, owner or subject, found
    return None, subject, value


def _of_title(subject: str, title: str, declared: frozenset[str]) -> tuple[_Entry | None, str, str]:
    """What "is" states of who holds something of another: "Eva is CEO of Acme", "is Ana's boss"."""
    held, owned = _TITLE.fullmatch(title), _OWNED.fullmatch(title)
    if held:
        entry, found = _entry(f"is {_plain(held['thing'])} of", held["owner"], declared)
        if entry and entry.is_single:
            return entry, subject, found
    elif owned and subject not in _POINTING:
        entry, found = _entry(f"{_plain(owned['thing'])} is", subject, declared)
        if entry and entry.is_single:
            return entry, owned["owner"], found
    return None, subject, title


def _with_denial(said: Reading, plan: _Plan, entry: _Entry | None) -> Reading:
    """The reading with what it denies."""
    if not said.polarity:
        return replace(said, denies=said.names[:1], denied=said.object)
    if plan.is_ender:
        over = _over(plan, said.object)
        return _ended(said, *over) if over else said
    if _MAY_INSTEAD.search(said.object):
        instead = _INSTEAD.fullmatch(said.object)
        if instead:
            kept, dropped = map(normal_form, instead.groups())
            value = kept if said.is_single else said.object
            return replace(said, object=value, denies=said.names[:1], denied=dropped)
    if entry and entry.family and entry.family.opposes:
        return replace(said, denies=entry.family.opposes, denied=said.object)
    return said


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known of a predicate before its ends are.

    Attributes:
        name: the relation.
        compared: the same, its verb in its plainest form.
        flips: whether it denies.
        entries: the families that it may belong to.
        value: the value that stands in the predicate itself ("has been vegan since"); or ``""``.
        left: the value that is left by one predicate with where it leads ("moved from Oslo to").
        is_ender: whether it may end something.
        is_of_attribute: whether it may tell of the subject what the subject is called by.
    """

    name: str
    compared: str
    flips: bool
    entries: tuple[_Entry, ...]
    value: str = ""
    left: str = ""
    is_ender: bool = False
    is_of_attribute: bool = False


@lru_cache(maxsize=1 << 14)
def _plan(predicate: str, declared: frozenset[str]) -> _Plan:
    told = relation(predicate)
    name, value = _once(told.name), ""
    since, moved = _SINCE.fullmatch(name), _MOVED.fullmatch(name)
    if since:
        name, value = "is", since[1]
    left = ""
    if moved:
        name, left = moved.groups()
    compared = _compared(name)
    is_ender = any((compared in _ENDERS, _OVER.match(name), _CALLED_OFF.fullmatch(name)))
    entries = (*_of_noun(name, declared), *_entries(compared, declared))
    may_be = name == "is" or bool(_BECAME.fullmatch(name))
    may_be = may_be or any(entry.name in _OF_ANYTHING[:2] for entry in entries)
    return _Plan(name, compared, told.flips, entries, value, left, is_ender, may_be)


def _once(name: str) -> str:
    """A relation that says "formerly" as one that says "used to"."""
    found = _FORMERLY.search(name)
    if not found:
        return name
    verb, space, rest = (name[: found.start()] + name[found.end() :]).strip().partition(" ")
    if verb in ("was", "were"):
        verb = "be"
    elif verb.endswith("ed"):
        verb = verb[:-3] if verb[-3:-2] == verb[-4:-3] not in tuple("lsz") else verb[:-2]
    return f"used to {verb}{space}{rest}"


def _of_noun(name: str, declared: frozenset[str]) -> tuple[_Entry, ...]:
    """The families of a noun in whatever words it is told: "employer", "has new diet"."""
    bare = _LEAD.sub("", name, count=1)
    turned = _TURNED.fullmatch(bare)
    noun = turned["noun"] if turned else bare
    first, is_alone = noun.partition(" ")[0], noun == name
    # "rents" and "dating" are no nouns.
    if first in ("", "is") or (is_alone and _verb(first) != first.removesuffix("e")):
        return ()
    entries = _entries(_compared(f"{noun} is"), declared)
    kind = "mark" if is_alone and noun in _VERBS_TOO else ""
    return tuple(
        replace(entry, kind=entry.kind or kind)
        for entry in entries
        if entry.is_single and not entry.is_inverse
    )


def _ended(said: Reading, denies: tuple[str, ...], denied: str) -> Reading:
    """What tells that something is over; "moved from A to B" also tells what came instead."""
    moved = _FROM_TO.fullmatch(denied) if said.names[0].endswith(" from") else None
    if moved:
        left, reached = map(normal_form, moved.groups())
        if not _HOME_MOVED.fullmatch(said.names[0]) or _UNITS.search(denied):
            return replace(
                said, object=_bare(reached), denies=denies, denied=_bare(left), is_event=True
            )
        return Reading(denies[:1], said.subject, reached, True, True, denies, left, True)
    is_mutual = all(name in _MUTUAL for name in denies)
    return replace(said, denies=denies, denied=_bare(denied), is_event=True, is_mutual=is_mutual)


def _over(plan: _Plan, object_: str) -> tuple[tuple[str, ...], str] | None:
    """The names of what a relation ends, and of which value."""
    families = _ENDERS.get(plan.compared, ())
    place = _PLACE_AT.fullmatch(object_) if families else None
    if place:
        return families, place[1]
    called_off = _CALLED_OFF.fullmatch(plan.name)
    if called_off:
        return (_compared(f"has {called_off[1]}"), *families), object_
    habit = _OVER.match(plan.name)
    if not habit:
        return families, object_
    verb, value = plan.name[habit.end() :], object_
    if not verb:
        # "stopped" and "drinking coffee"
        verb, _, value = object_.partition(" ")
        if not verb.endswith("ing") or not value or verb in _NO_VERBS:
            return (families, object_) if families else None
        families = ()
    entry, ended = _entry(verb, value, SINGLE_VALUED)
    named = (entry.name,) if entry and entry.is_single else (_compared(verb),)
    return (*named, *families), ended


def _entry(name: str, object_: str, declared: frozenset[str]) -> tuple[_Entry | None, str]:
    return _fitting(_entries(_compared(name), declared), object_)


def _fitting(entries: Iterable[_Entry], object_: str) -> tuple[_Entry | None, str]:
    """The first family that takes such an object, and the object as it is compared."""
    for entry in entries:
        value = _KINDS[entry.kind](object_)
        if value is not None:
            return entry, value
    return None, object_


@lru_cache(maxsize=1 << 14)
def _compared(name: str) -> str:
    """A relation whose verb is in its plainest form: "lives in" and "living in" are one."""
    name = _ONES_OWN.sub("", name)
    first, space, rest = name.partition(" ")
    verb = _verb(first)
    lasting = rest[5:] if verb in ("has", "hav") and rest.startswith("been ") else ""
    # What has been so is so; "has been to" is another matter.
    if lasting.partition(" ")[0].endswith("ing") or _WITHOUT_IS.fullmatch(lasting):
        return _compared(f"is {lasting}")
    bare = _WITHOUT_IS.fullmatch(rest) if verb == "is" else None
    if bare:
        return _compared(bare[1])
    if verb == "got" and rest.partition(" ")[0].endswith("ed"):
        return f"was {rest}"
    if verb == "is":
        second = rest.partition(" ")[0]
        if second.endswith("ing") and len(second) > 5 and second not in _NO_VERBS:
            return _compared(rest)
    return f"{verb}{space}{rest}"


def _verb(word: str) -> str:
    word = _SAME.get(word, word)
    if len(word) < 4:
        return word
    if word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    elif word.endswith("ing") and len(word) > 5:
        word = word[:-3]
        word = word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word.removesuffix("e")


def _entries(compared: str, declared: frozenset[str]) -> tuple[_Entry, ...]:
    """Families of a relation: first those that ask for a kind of object, then the single-valued."""
    registry = _registry(declared)
    found = list(registry.literal.get(compared, ()))
    for pattern, entry in registry.patterns:
        match = pattern.fullmatch(compared)
        if match:
            found.append(replace(entry, name=" ".join((entry.name, *match.groups()))))
    office = _HELD.fullmatch(compared)
    if office:
        found += registry.offices.get(office[1], ())
    wide = ("", "place")
    return tuple(sorted(found, key=lambda entry: (entry.kind in wide, not entry.is_single)))


@dataclass(frozen=True, slots=True)
class _Registry:
    """Which families spellings belong to: those without ``*``, and those with."""

    literal: Mapping[str, tuple[_Entry, ...]]
    patterns: tuple[tuple[re.Pattern[str], _Entry], ...]
    offices: Mapping[str, tuple[_Entry, ...]]


# Declared once and for all, and none of it is anybody's words: kept where others are let go of.
_REGISTRIES: dict[frozenset[str], _Registry] = {}


def _registry(declared: frozenset[str]) -> _Registry:
    known = _REGISTRIES.get(declared)
    if known is None:
        known = _REGISTRIES[declared] = _made(declared)
    return known


def _made(declared: frozenset[str]) -> _Registry:
    literal: dict[str, tuple[_Entry, ...]] = {}
    patterns: list[tuple[re.Pattern[str], _Entry]] = []
    for spelled, entry in _declared(declared):
        if "*" in spelled:
            patterns.append((_pattern(spelled), entry))
        else:
            bare = _KIND.sub(r"\1", spelled)
            literal[bare] = (*literal.get(bare, ()), entry)
    offices = {
        name: tuple(replace(entry, is_inverse=True) for entry in literal.get(f"{name} is", ()))
        for name in _OFFICE_NAMES
    }
    return _Registry(literal, tuple(patterns), offices)


def _declared(declared: frozenset[str]) -> Iterator[tuple[str, _Entry]]:
    """Spellings as they are compared: of the families, then those that the caller added."""
    asked = {_spelled(one) for one in declared}
    known: set[str] = set()
    for family in FAMILIES:
        spellings = [(one, False) for one in family.spellings]
        for spelling, is_inverse in spellings + [(one, True) for one in family.inverse]:
            spelled = _spelled(spelling)
            is_single = family.is_single and spelled in asked
            if family.is_single:
                known.add(spelled)
            if is_single or not family.is_single:
                kind = _kind(spelling)
                yield spelled, _Entry(family, family.name, kind, is_inverse, is_single)
    for spelled in sorted(asked - known):
        name = _KIND.sub(r"\1", spelled).replace(" *", "")
        yield spelled, _Entry(None, name, _kind(spelled), is_single=True)


def _pattern(spelled: str) -> re.Pattern[str]:
    return re.compile(re.escape(spelled).replace(r"\*", r"(\S*[^\Ws])"))


def _kind(spelling: str) -> str:
    found = _KIND.fullmatch(spelling)
    return found[2] if found and found[2] in _KINDS else ""


def _spelled(spelling: str) -> str:
    """A spelling of the registry as it is compared; its stars and its kind stay."""
    found = _KIND.fullmatch(spelling)
    bare = found[1] if found else spelling
    plain = " ".join(" * ".join(map(_plain, bare.split("*"))).split())
    kind = f" ({found[2]})" if found else ""
    return f"{_compared(plain)}{kind}"


def _as_diet(object_: str) -> str | None:
    bare = re.sub(r"^(?:an? )?(?:strict )?|(?: again| now| diet)$", "", object_)
    return bare if bare in _DIETS else None


def _as_age(object_: str) -> str | None:
    return object_ if _AGE.fullmatch(object_) else None


def _as_amount(object_: str) -> str | None:
    return object_ if any(map(str.isdigit, object_)) else None


def _as_date(object_: str) -> str | None:
    """A date and nothing else: "6 June 2026", "the 6th of June", "Friday, 6 June at 3 pm".

    A weekday alone is the next one; "Mondays" are a habit.
    """
    if _ISO_DATE.fullmatch(object_):
        return object_
    said = _WORD.findall(object_)
    if not all(word in _DATE_WORDS or word[0].isdigit() for word in said):
        return None
    is_of_month = bool(_MONTH_WORDS.intersection(said)) and any(w[0].isdigit() for w in said)
    is_weekday = not _WEEKDAYS.isdisjoint(said)
    is_date = is_of_month or is_weekday or _DAY_OF_MONTH.fullmatch(object_)
    return object_ if is_date else None


def _as_clock(object_: str) -> str | None:
    return object_ if _CLOCK.fullmatch(object_) else None


def _as_marked(object_: str) -> str | None:
    return object_ if _MARKED.search(object_) else None


def _as_place(object_: str) -> str | None:
    return None if _UNITS.search(object_) else object_


_KINDS: Mapping[str, Callable[[str], str | None]] = {
    "": lambda object_: object_,
    "diet": _as_diet,
    "age": _as_age,
    "amount": _as_amount,
    "mark": _as_marked,
    "date": _as_date,
    "clock": _as_clock,
    "place": _as_place,
}


def _enders() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        for ender in family.enders:
            name = _compared(_plain(ender))
            found[name] = (*found.get(name, ()), family.name)
    return found


_ENDERS = _enders()
