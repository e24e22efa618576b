//! The words that TPC-H's data are made of: the lists of clause 4.2.2.13, and sentences after the grammar of 4.2.2.14.

use rand::Rng;
use rand::rngs::StdRng;

pub const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Nations with the regions that they are in.
pub const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];

pub const SEGMENTS: &[&str] = &["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];
pub const PRIORITIES: &[&str] = &["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
pub const INSTRUCTIONS: &[&str] = &["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
pub const MODES: &[&str] = &["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
pub const TYPES: [&[&str]; 3] = [
    &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
];
pub const CONTAINERS: [&[&str]; 2] =
    [&["SM", "LG", "MED", "JUMBO", "WRAP"], &["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]];

pub const COLORS: &[&str] = &[
    "almond",
    "antique",
    "aquamarine",
    "azure",
    "beige",
    "bisque",
    "black",
    "blanched",
    "blue",
    "blush",
    "brown",
    "burlywood",
    "burnished",
    "chartreuse",
    "chiffon",
    "chocolate",
    "coral",
    "cornflower",
    "cornsilk",
    "cream",
    "cyan",
    "dark",
    "deep",
    "dim",
    "dodger",
    "drab",
    "firebrick",
    "floral",
    "forest",
    "frosted",
    "gainsboro",
    "ghost",
    "goldenrod",
    "green",
    "grey",
    "honeydew",
    "hot",
    "indian",
    "ivory",
    "khaki",
    "lace",
    "lavender",
    "lawn",
    "lemon",
    "light",
    "lime",
    "linen",
    "magenta",
    "maroon",
    "medium",
    "metallic",
    "midnight",
    "mint",
    "misty",
    "moccasin",
    "navajo",
    "navy",
    "olive",
    "orange",
    "orchid",
    "pale",
    "papaya",
    "peach",
    "peru",
    "pink",
    "plum",
    "powder",
    "puff",
    "purple",
    "red",
    "rose",
    "rosy",
    "royal",
    "saddle",
    "salmon",
    "sandy",
    "seashell",
    "sienna",
    "sky",
    "slate",
    "smoke",
    "snow",
    "spring",
    "steel",
    "tan",
    "thistle",
    "tomato",
    "turquoise",
    "violet",
    "wheat",
    "white",
    "yellow",
];

/// Nouns; the first of them come more often than the rest.
const NOUNS: &[&str] = &[
    "packages",
    "requests",
    "accounts",
    "deposits",
    "foxes",
    "ideas",
    "theodolites",
    "pinto beans",
    "instructions",
    "dependencies",
    "excuses",
    "platelets",
    "asymptotes",
    "courts",
    "dolphins",
    "multipliers",
    "sauternes",
    "warthogs",
    "frets",
    "dinos",
    "attainments",
    "somas",
    "Tiresias",
    "patterns",
    "forges",
    "braids",
    "hockey players",
    "frays",
    "warhorses",
    "dugouts",
    "notornis",
    "epitaphs",
    "pearls",
    "tithes",
    "waters",
    "orbits",
    "gifts",
    "sheaves",
    "depths",
    "sentiments",
    "decoys",
    "realms",
    "pains",
    "grouches",
    "escapades",
];
const VERBS: &[&str] = &[
    "sleep",
    "wake",
    "are",
    "cajole",
    "haggle",
    "nag",
    "use",
    "boost",
    "affix",
    "detect",
    "integrate",
    "maintain",
    "nod",
    "was",
    "lose",
    "sublate",
    "solve",
    "thrash",
    "promise",
    "engage",
    "hinder",
    "print",
    "x-ray",
    "breach",
    "eat",
    "grow",
    "impress",
    "mold",
    "poach",
    "serve",
    "run",
    "dazzle",
    "snooze",
    "doze",
    "unwind",
    "kindle",
    "play",
    "hang",
    "believe",
    "doubt",
];
const ADJECTIVES: &[&str] = &[
    "special",
    "pending",
    "unusual",
    "express",
    "furious",
    "sly",
    "careful",
    "blithe",
    "quick",
    "fluffy",
    "slow",
    "quiet",
    "ruthless",
    "thin",
    "close",
    "dogged",
    "daring",
    "brave",
    "stealthy",
    "permanent",
    "enticing",
    "idle",
    "busy",
    "regular",
    "final",
    "ironic",
    "even",
    "bold",
    "silent",
];
const ADVERBS: &[&str] = &[
    "sometimes",
    "always",
    "never",
    "furiously",
    "slyly",
    "carefully",
    "blithely",
    "quickly",
    "fluffily",
    "slowly",
    "quietly",
    "ruthlessly",
    "thinly",
    "closely",
    "doggedly",
    "daringly",
    "bravely",
    "stealthily",
    "permanently",
    "enticingly",
    "idly",
    "busily",
    "regularly",
    "finally",
    "ironically",
    "evenly",
    "boldly",
    "silently",
];
const PREPOSITIONS: &[&str] = &[
    "about",
    "above",
    "according to",
    "across",
    "after",
    "against",
    "along",
    "alongside of",
    "among",
    "around",
    "at",
    "atop",
    "before",
    "behind",
    "beneath",
    "beside",
    "besides",
    "between",
    "beyond",
    "by",
    "despite",
    "during",
    "except",
    "for",
    "from",
    "in place of",
    "inside",
    "instead of",
    "into",
    "near",
    "of",
    "on",
    "outside",
    "over",
    "past",
    "since",
    "through",
    "throughout",
    "to",
    "toward",
    "under",
    "until",
    "up",
    "upon",
    "without",
    "with",
    "within",
];
const AUXILIARIES: &[&str] = &[
    "do",
    "may",
    "might",
    "shall",
    "will",
    "would",
    "can",
    "could",
    "should",
    "ought to",
    "must",
    "will have to",
    "shall have to",
    "could have to",
    "should have to",
    "must have to",
    "need to",
    "try to",
];
const TERMINATORS: &[&str] = &[".", ".", ".", ";", ":", "?", "!", "--"];

/// A long text of which comments are pieces.
pub struct Prose(String);

/// Enough that pieces rarely are the same.
const PROSE_BYTES: usize = 2 << 20;

impl Prose {
    pub fn new(random: &mut StdRng) -> Prose {
        let mut text = String::with_capacity(PROSE_BYTES + 256);
        while text.len() < PROSE_BYTES {
            sentence(random, &mut text);
        }
        Prose(text)
    }

    /// A piece of a length between two.
    pub fn piece(&self, random: &mut StdRng, shortest: usize, longest: usize) -> &str {
        let length = random.random_range(shortest..=longest);
        let start = random.random_range(0..PROSE_BYTES - length);
        &self.0[start..start + length]
    }
}

fn word<'w>(random: &mut StdRng, words: &[&'w str]) -> &'w str {
    words[random.random_range(0..words.len())]
}

/// A word of a list whose first four are as frequent as all others together.
fn weighted<'w>(random: &mut StdRng, words: &[&'w str]) -> &'w str {
    if random.random_range(0..2) == 0 { word(random, &words[..4]) } else { word(random, words) }
}

fn sentence(random: &mut StdRng, text: &mut String) {
    // noun phrases, verb phrases and prepositional phrases, as the grammar orders them
    const FORMS: [&str; 5] = ["nv", "nvp", "nvn", "npvn", "npvp"];
    for (at, part) in word(random, &FORMS).chars().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        match part {
            'n' => noun_phrase(random, text),
            'v' => verb_phrase(random, text),
            _ => {
                text.push_str(word(random, PREPOSITIONS));
                text.push_str(" the ");
                noun_phrase(random, text);
            }
        }
    }
    text.push_str(word(random, TERMINATORS));
    text.push(' ');
}

fn noun_phrase(random: &mut StdRng, text: &mut String) {
    match random.random_range(0..4) {
        0 => {}
        1 => {
            text.push_str(weighted(random, ADJECTIVES));
            text.push(' ');
        }
        2 => {
            text.push_str(weighted(random, ADJECTIVES));
            text.push_str(", ");
            text.push_str(weighted(random, ADJECTIVES));
            text.push(' ');
        }
        _ => {
            text.push_str(word(random, ADVERBS));
            text.push(' ');
            text.push_str(weighted(random, ADJECTIVES));
            text.push(' ');
        }
    }
    text.push_str(weighted(random, NOUNS));
}

fn verb_phrase(random: &mut StdRng, text: &mut String) {
    let form = random.random_range(0..4);
    if form & 1 == 1 {
        text.push_str(word(random, AUXILIARIES));
        text.push(' ');
    }
    text.push_str(word(random, VERBS));
    if form & 2 == 2 {
        text.push(' ');
        text.push_str(word(random, ADVERBS));
    }
}
