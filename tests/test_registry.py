"""What the registry of relations takes for a change, in many words, and what it leaves alone."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from graphmem import Triple, facts
from graphmem.facts import Evidence
from graphmem.predicates import affirmed

BEFORE = datetime(2025, 1, 1, tzinfo=timezone.utc)
AFTER = datetime(2025, 6, 1, tzinfo=timezone.utc)

# The first of each pair is over when the second is told.
CHANGES = """
Ana | resides in | Oslo                    -> Ana | relocated to | Bergen
Ana | lives in | Oslo                      -> Ana | moved from Oslo to | Bergen
Ana | lives in | Oslo                      -> Ana | moved from | Oslo to Bergen
Ana's address | is | 1 Elm Road            -> Ana's address | is now | 2 Oak Road
Ana's phone number | is | 111              -> Ana's new phone number | is | 222
Ana | favourite band is | Muse             -> Ana | new favourite band is | Blur
Ana's favourite food | is | sushi          -> Ana's favourite food | was changed to | ramen
Ana | works for | Acme                     -> Ana | was hired by | Globex
Ana | works at | Acme                      -> Ana | new job is at | Globex
Ana's dentist | is | Bo                    -> Ana's dentist | is | Cy
Ana's landlord | is | Bo                   -> Ana's new landlord | is | Cy
Bo | is manager of | Ana                   -> Cy | is manager of | Ana
Bo | is CEO of | Acme                      -> Cy | became CEO of | Acme
Bo | is mayor of | Hull                    -> Cy | was elected mayor of | Hull
Bo | leads | team A                        -> Cy | is the new leader of | team A
Bo | is assigned to | project One          -> Bo | is now assigned to | project Two
Bo | is assigned to | project One          -> Bo | was moved from project One to | project Two
Bo | is assigned to | project One          -> Bo | moved from | project One
wifi password | is | abc                   -> wifi password | is | xyz
thesis deadline | is | 3 May 2025          -> thesis deadline | was extended to | 6 June 2025
meeting | is on | 14 May 2025              -> meeting | was postponed to | 21 May 2025
meeting | is at | 10:00                    -> meeting | is at | 11:30
meeting | takes place in | room 4          -> meeting | will be held in | room 9
rent | is | 900                            -> rent | went up to | 950
cat | is called | Miso                     -> cat | was renamed to | Mochi
Bo | is dentist of | Ana                    -> Cy | is the new dentist of | Ana
Satie | is favourite composer of | Ana     -> Ana | favourite composer is | Ravel
Ana | weighs | 62 kg                       -> Ana | weighs | 58 kg
Ana | uses | Vim                           -> Ana | switched from Vim to | Emacs
Ana | has | sister                         -> Ana | has no | sister
Ana | has | a sister                       -> Ana | never had | a sister
Ana | goes to | yoga                       -> Ana | stopped going to | yoga
Ana | is learning | Italian                -> Ana | gave up learning | Italian
Ana | studies at | Lund                    -> Ana | dropped out of | Lund
Ana | takes | insulin                      -> Ana | came off | insulin
Ana | is interested in | opera             -> Ana | lost interest in | opera
Ana | likes | fish                         -> Ana | went off | fish
Ana | hates | fish                         -> Ana | has come to love | fish
Ana | is subscribed to | Gazette           -> Ana | cancelled her subscription to | Gazette
Ana | has appointment with | Dr Roth       -> Ana | cancelled appointment with | Dr Roth
Ana | is dating | Tom                      -> Tom | broke up with | Ana
Tom | is boyfriend of | Ana                -> Ana | broke up with | Tom
Ana | is married to | Tom                  -> Tom | divorced | Ana
Ana | has | dog                            -> Ana | no longer has | a dog
Ana | owns | a boat                        -> Ana | sold | her boat
shop | is open on | Sundays                -> shop | is closed on | Sundays
"""

# Both of each pair are so.
BOTH = """
Bo | lives in | Oslo                       -> Bo | moved to | project Two
Bo | lives in | Oslo                       -> Bo | moved from project One to | project Two
Bo | lives in | Oslo                       -> Bo | was born in | Rome
Bo | lives in | Oslo                       -> Bo | left | Acme
Bo | works at | Acme                       -> Bo | switched from Vim to | Emacs
Bo | works at | Acme                       -> Bo | administers | Globex's repository
Bo | works at | Acme                       -> Bo | left | choir
Bo | plays | cello                         -> Bo | no longer plays | piano
Bo | owns | boat                           -> Bo | sold | car
Bo | likes | jazz                          -> Bo | hates | tango
Bo | is | nurse                            -> Bo | is | vegan
Ana | is married to | Tom                  -> Eva | divorced | Ana
Bo's sister | is | Ada                     -> Bo's sister | is | Eva
Bo | is teacher of | Ada                   -> Cy | is teacher of | Ada
Bo | is president of | club A              -> Cy | became president of | club B
Bo | moved to | Oslo                       -> meeting | moved to | 3 May 2025
meeting | is on | roof                     -> meeting | is on | 3 May 2025
code of the cellar door | is | 4417        -> code of the bicycle lock | is | 9052
the king | is | Bo                         -> the king | is | tall
town | is building | bridge                -> town | is building | school
Bo | did not go to | school                -> Bo | goes to | school
Bo | attends | evening class               -> Bo | quit | choir
"""


def pairs(table):
    return [tuple(line.split("->")) for line in table.strip().splitlines()]


def believed(*told):
    """Live facts after one message each, in turn."""
    proof = {}
    for number, (text, said_at) in enumerate(zip(told, (BEFORE, AFTER), strict=True)):
        triple = affirmed(Triple(*(part.strip() for part in text.split("|"))))
        row = Evidence(
            f"p{number}",
            triple.subject,
            triple.predicate,
            triple.object,
            triple.polarity,
            said_at=said_at,
            recorded_at=said_at,
        )
        id_ = facts.fact_id(row.subject, row.predicate, row.object, row.polarity)
        proof.setdefault(id_, []).append(row)
    return [fact.is_live for fact in facts.believed(proof).values()], [
        fact.passages[0] for fact in facts.believed(proof).values()
    ]


@pytest.mark.parametrize(("before", "after"), pairs(CHANGES))
def test_the_later_of_two_that_exclude_each_other_holds(before, after):
    live, passages = believed(before, after)
    assert dict(zip(passages, live, strict=True)) == {"p0": False, "p1": True}


@pytest.mark.parametrize(("before", "after"), pairs(BOTH))
def test_what_does_not_exclude_another_stays(before, after):
    live, passages = believed(before, after)
    assert dict(zip(passages, live, strict=True)) == {"p0": True, "p1": True}
