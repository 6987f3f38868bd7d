"""Families of relations, declared: which spellings state one thing, and what says that it is over.

Whatever is not listed here states a relation of its own, which replaces nothing and which only a
denial of the same words contradicts. Likeness of words or of vectors is never asked. How a
predicate is read by this is told in ``graphmem.predicates``.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DATES", "FAMILIES", "OFFICES", "SINGLE_VALUED", "Family"]


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


def _attribute(name: str, *more: str, kind: str = "") -> Family:
    """A family of a noun: "phone number is", "has phone number"."""
    end = f" ({kind})" if kind else ""
    told = (f"{name} is", f"has {name}", f"new {name} is", f"has new {name}")
    spellings = tuple(f"{one}{end}" for one in told)
    # One word alone may be a verb: "rents".
    bare = (name,) if " " in name else ()
    # A name of its own: a relation may be called as the noun is.
    inverse = tuple(f"is {which}{name} of" for which in ("", "the ", "new ", "the new ", "now "))
    return Family(f"{name} of one", (*bare, *spellings, *more), inverse)


def _office(name: str, *inverse: str) -> Family:
    """A family of an office that one holds at a time; "was elected mayor of" is told by a rule."""
    spellings = (f"{name} is", f"has {name}", f"new {name} is", f"has new {name}")
    return Family(f"office of {name}", spellings, inverse)


# fmt: off
OFFICES = (
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
         "city of residence is", "current city is"),
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
        "departure time", "meeting point", "next appointment", "marital status",
        "relationship status",
    )),
    _attribute("gate", kind="mark"),
    _attribute("platform", kind="mark"),
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
    *map(_office, OFFICES),
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
