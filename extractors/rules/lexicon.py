"""Closed word lists of English that the rules lean on."""

from __future__ import annotations

__all__ = [
    "ANIMALS",
    "EMPTY_VERBS",
    "FEMALE",
    "FIRST_PERSON",
    "GREETINGS",
    "HYPOTHETICAL_MARKS",
    "IRREALIS_VERBS",
    "JOKES",
    "KIN",
    "MALE",
    "NO",
    "ORGANISATIONS",
    "PEOPLE",
    "SECOND_PERSON",
    "SPEAKING",
    "TITLES",
    "YES",
]

FIRST_PERSON = frozenset("i me my myself we us our ourselves".split())
SECOND_PERSON = frozenset("you your yourself".split())

_FEMALE_KIN = """mum mom mother sister daughter wife aunt auntie grandmother grandma gran nan niece
    girlfriend fiancée ex-wife stepmother stepsister mother-in-law sister-in-law girl woman lady
    granddaughter queen actress landlady mama goddaughter godmother""".split()
_MALE_KIN = """dad father brother son husband uncle grandfather grandpa grandad nephew
    boyfriend fiancé ex-husband stepfather stepbrother father-in-law brother-in-law boy man guy
    grandson king actor landlord papa godson godfather""".split()
KIN = frozenset(
    _FEMALE_KIN
    + _MALE_KIN
    + """cousin partner friend colleague boss teacher neighbour neighbor flatmate roommate housemate
    parent child kid baby twin sibling spouse fiance ex mate coach doctor dentist therapist
    manager manageress builder plumber tutor student apprentice supervisor mentor""".split()
)  # fmt: skip

# Nouns for people beside kin and those that end in "-ist" and the like.
PEOPLE = frozenset(
    """vet surgeon nurse physio lawyer solicitor driver baker chef cook waiter officer captain
    plasterer electrician carpenter painter gardener cleaner nanny tenant landlord landlady owner
    writer author singer dancer player runner farmer engineer programmer developer designer
    consultant agent clerk secretary assistant director president minister priest pastor judge
    policeman sommelier pharmacist volunteer trainer lecturer professor researcher student pupil
    toddler teenager guest visitor colleague stranger adult person somebody"""
    .split()
)  # fmt: skip
# What a sentence without a verb says to be kind.
GREETINGS = frozenset(
    """morning afternoon evening night day weekend luck birthday christmas thanks hello welcome
    congratulations congrats bye sorry""".split()
)
# Called "she" and "he" as well as "it".
ANIMALS = frozenset(
    """dog cat puppy kitten horse pony rabbit bunny hamster parrot tortoise hen cow goat pig donkey
    whippet terrier spaniel labrador poodle collie retriever dachshund greyhound""".split()
)
TITLES = frozenset("dr prof professor doctor captain saint st".split())

FEMALE = frozenset(
    _FEMALE_KIN
    + """ms mrs miss madame mme dona doña senhora señora lady mary patricia jennifer linda elizabeth
    barbara susan jessica sarah karen lisa nancy betty margaret sandra ashley kimberly emily
    donna michelle carol amanda dorothy melissa deborah stephanie rebecca sharon laura cynthia
    kathleen amy angela shirley anna brenda pamela emma nicole helen samantha katherine
    christine debra rachel carolyn janet catherine maria heather diane ruth julie olivia joyce
    virginia victoria kelly lauren christina joan evelyn judith megan andrea cheryl hannah
    jacqueline martha gloria teresa ann sara madison frances kathryn janice jean abigail alice
    julia judy sophia grace denise amber doris marilyn danielle beverly isabella theresa diana
    natalie brittany charlotte marie kayla alexis lori beth ingrid astrid freya sofia lucia
    carmen pilar rosa ana eva nina mia zoe chloe leah ella lily anita sunita lakshmi mei ling
    aisha fatima leila nadia olga irina svetlana katya anya claire sophie camille juliette
    kate jane jess meg liz sue niamh siobhan aoife fiona erin molly polly ellie tess nora
    clara greta heidi elena laila yasmin hana mariana paula silvia ines agnieszka magda zofia
    ioana eszter aylin zeynep noor deepa kavita anjali yuko naomi""".split()
)
MALE = frozenset(
    _MALE_KIN
    + """mr sir senhor señor monsieur lord james robert john michael david william richard joseph
    thomas charles christopher daniel matthew anthony mark donald steven paul andrew joshua
    kenneth kevin brian george timothy ronald edward jason jeffrey ryan jacob gary nicholas
    eric jonathan stephen larry justin scott brandon benjamin samuel gregory alexander frank
    patrick raymond jack dennis jerry tyler aaron jose adam nathan henry douglas zachary peter
    kyle walter ethan jeremy harold keith christian roger noah gerald carl terry sean austin
    arthur lawrence jesse dylan bryan joe jordan billy bruce albert willie gabriel logan alan
    juan wayne roy ralph randy eugene vincent russell louis bobby philip johnny tom tim dave
    mike ben sam dan jim bob bill pete steve nick chris matt rob josh miguel pedro joão joao
    rui luis luís carlos jorge antonio hugo lars erik anders sven hans klaus jürgen karl
    pierre luc marc antoine ravi arjun raj amit ali omar hassan ahmed ivan dmitri sergei kenji
    hiroshi takeshi wei liam finn oscar leo max theo felix ken ian neil graham stuart gareth
    owen rhys callum diego jonas mateo pablo rafael andre bruno tiago marco luca giovanni
    matteo piotr tomasz jakub andrei mehmet mustafa yusuf vikram sanjay hiroto dylan""".split()
)

# Verbs that only manage the talk.
EMPTY_VERBS = frozenset("thank".split())
SPEAKING = frozenset("tell ask say promise warn remind show".split())
ORGANISATIONS = frozenset(
    """company firm organisation organization group band airline manufacturer retailer publisher
    corporation agency institution association business brand label studio club team""".split()
)

YES = frozenset(
    "yes yep yeah yup yess aye indeed correct exactly definitely absolutely sure".split()
)
NO = frozenset("no nope nah never".split())
JOKES = frozenset(
    ("just kidding", "only kidding", "i'm kidding", "im kidding", "kidding!", "jk", "joking", "j/k")
)

HYPOTHETICAL_MARKS = frozenset("if unless whether lest suppose supposing".split())
# What is said under these is wished, feared, guessed or denied, not stated.
IRREALIS_VERBS = frozenset(
    """wish hope imagine pretend doubt wonder suppose guess dream fear expect suspect bet assume ask
    let please refuse deny seem""".split()
)
