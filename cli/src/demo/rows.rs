//! Rows like those of a shop: customers, their orders, and what they did, as JSON.
//!
//! What makes data compress is what makes it real: few statuses, many equal cities,
//! keys that rise, prices with a pattern, JSON with the same names again and again;
//! beside that, what does not compress: tracking numbers and session tokens. A
//! uniformly random string would flatter no codec and describe no shop.
//!
//! Row i of a table depends on the seed and on i alone, so that every codec gets the
//! same rows, in any order of loading.

use std::fmt::Write;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// One of the tables.
pub struct Table {
    pub name: &'static str,
    columns: &'static str,
    /// Out of 16 rows, how many are this table's.
    share: u64,
    /// Keeps the tables' rows apart in the generator.
    salt: u64,
    write: fn(&mut Generator, u64, &mut StdRng),
}

pub const TABLES: &[Table] = &[
    Table {
        name: "customers",
        columns: "id INT UNSIGNED NOT NULL AUTO_INCREMENT, email VARCHAR(120) NOT NULL, first_name VARCHAR(40) NOT NULL, \
                  last_name VARCHAR(40) NOT NULL, street VARCHAR(80) NOT NULL, postcode VARCHAR(10) NOT NULL, \
                  city VARCHAR(40) NOT NULL, country CHAR(2) NOT NULL, registered_at DATETIME NOT NULL, \
                  newsletter TINYINT(1) NOT NULL DEFAULT 0, note TEXT, PRIMARY KEY (id), UNIQUE KEY email (email), \
                  KEY city (city, last_name)",
        share: 1,
        salt: 1,
        write: Generator::write_customer,
    },
    Table {
        name: "orders",
        columns: "id BIGINT UNSIGNED NOT NULL, customer_id INT UNSIGNED NOT NULL, ordered_at DATETIME NOT NULL, \
                  status ENUM('new','paid','shipped','delivered','returned','cancelled') NOT NULL, \
                  total DECIMAL(10,2) NOT NULL, currency CHAR(3) NOT NULL, item_count SMALLINT UNSIGNED NOT NULL, \
                  shipping_address VARCHAR(200) NOT NULL, carrier VARCHAR(20) NOT NULL, tracking VARCHAR(24), \
                  PRIMARY KEY (id), KEY customer (customer_id, ordered_at), KEY ordered_at (ordered_at)",
        share: 9,
        salt: 2,
        write: Generator::write_order,
    },
    Table {
        name: "events",
        columns: "id BIGINT UNSIGNED NOT NULL, customer_id INT UNSIGNED NOT NULL, happened_at DATETIME(3) NOT NULL, \
                  kind VARCHAR(24) NOT NULL, payload JSON NOT NULL, PRIMARY KEY (id), KEY kind (kind, happened_at)",
        share: 6,
        salt: 3,
        write: Generator::write_event,
    },
];

impl Table {
    /// The statement that makes this table for a codec.
    pub fn definition(&self, codec: &str) -> String {
        format!("CREATE TABLE {}_{codec} ({}) COMPRESSION=\"{codec}\"", self.name, self.columns)
    }
}

const FIRST_NAMES: &[&str] = &[
    "Anna", "Ben", "Carla", "David", "Elif", "Finn", "Greta", "Hugo", "Ida", "Jonas", "Klara", "Liam", "Mia", "Noah",
    "Olivia", "Paul", "Quentin", "Rosa", "Sofia", "Theo", "Uma", "Vera", "Wim", "Xenia", "Yusuf", "Zoe",
];
const LAST_NAMES: &[&str] = &[
    "Andersen",
    "Bakker",
    "Costa",
    "Dubois",
    "Eriksson",
    "Fischer",
    "Garcia",
    "Hoffmann",
    "Ivanova",
    "Jansen",
    "Kowalski",
    "Lefevre",
    "Moreau",
    "Novak",
    "Olsen",
    "Popescu",
    "Rossi",
    "Schmidt",
    "Svensson",
    "Taylor",
    "Urban",
    "Virtanen",
    "Weber",
    "Yilmaz",
    "Zimmermann",
];
const STREETS: &[&str] = &[
    "Station Road",
    "High Street",
    "Mill Lane",
    "Church Street",
    "Garden Way",
    "Harbour View",
    "Park Avenue",
    "School Lane",
    "Market Place",
    "Forest Road",
    "River Walk",
    "Castle Hill",
];
const CITIES: &[(&str, &str, u32)] = &[
    ("Amsterdam", "NL", 1000),
    ("Berlin", "DE", 10_000),
    ("Copenhagen", "DK", 1000),
    ("Hamburg", "DE", 20_000),
    ("Helsinki", "FI", 100),
    ("Lisbon", "PT", 1000),
    ("Lyon", "FR", 69_000),
    ("Madrid", "ES", 28_000),
    ("Milan", "IT", 20_100),
    ("Munich", "DE", 80_000),
    ("Oslo", "NO", 100),
    ("Paris", "FR", 75_000),
    ("Prague", "CZ", 11_000),
    ("Rotterdam", "NL", 3000),
    ("Stockholm", "SE", 11_100),
    ("Vienna", "AT", 1010),
    ("Warsaw", "PL", 10),
    ("Zurich", "CH", 8000),
];
const STATUSES: &[(&str, u32)] =
    &[("delivered", 78), ("shipped", 8), ("paid", 5), ("new", 3), ("returned", 4), ("cancelled", 2)];
const CARRIERS: &[&str] = &["DHL", "UPS", "PostNL", "GLS", "DPD"];
const KINDS: &[(&str, u32)] =
    &[("page_view", 60), ("search", 15), ("add_to_cart", 12), ("checkout", 6), ("payment", 5), ("review", 2)];
const BROWSERS: &[&str] = &[
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
];
const PRODUCTS: &[&str] = &[
    "walnut desk",
    "reading lamp",
    "wool blanket",
    "oak shelf",
    "linen curtain",
    "steel kettle",
    "ceramic bowl",
    "cotton towel",
    "garden chair",
    "wall clock",
    "cast-iron pan",
    "cork board",
];
const REMARKS: &[&str] = &[
    "Prefers delivery in the afternoon.",
    "Asked for an invoice in the name of the company.",
    "Leave parcels with the neighbour on the second floor.",
    "Has a standing discount of 5 % since last year.",
    "Called about a late delivery; was satisfied in the end.",
];

/// Writes rows as the VALUES of INSERT statements.
pub struct Generator {
    seed: u64,
    rows: u64,
    statement: String,
}

impl Generator {
    /// `rows` for all tables together.
    pub fn new(seed: u64, rows: u64) -> Self {
        Self { seed, rows, statement: String::new() }
    }

    /// How many rows a table gets.
    pub fn count(&self, table: &Table) -> u64 {
        (self.rows * table.share).div_ceil(16)
    }

    /// The statement that inserts `count` rows from `first` on. Its memory is used again for the next.
    pub fn insert(&mut self, table: &Table, codec: &str, first: u64, count: u64) -> &str {
        self.statement.clear();
        let _ = write!(self.statement, "INSERT INTO {}_{codec} VALUES ", table.name);
        for index in first..first + count {
            let separator = if index == first { '(' } else { ',' };
            self.statement.push(separator);
            if index != first {
                self.statement.push('(');
            }
            let row_seed = self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ table.salt << 56 ^ index;
            (table.write)(self, index, &mut StdRng::seed_from_u64(row_seed));
            self.statement.push(')');
        }
        &self.statement
    }

    fn customers(&self) -> u64 {
        self.count(&TABLES[0]).max(1)
    }

    fn write_customer(&mut self, index: u64, random: &mut StdRng) {
        let (first, last) = (pick(FIRST_NAMES, random), pick(LAST_NAMES, random));
        let (city, country, postcode) = pick(CITIES, random);
        let (street, house) = (pick(STREETS, random), random.random_range(1..200));
        let postcode = postcode + random.random_range(0..90);
        let provider = pick(&["example.com", "mail.example", "post.example.org"], random);
        let (registered, newsletter) = (moment(index * 2400 + random.random_range(0..2400)), random.random_bool(0.3));
        let _ = write!(
            self.statement,
            "{},'{}.{}{}@{provider}','{first}','{last}','{street} {house}','{postcode:05}','{city}','{country}','{registered}',{},",
            index + 1,
            first.to_ascii_lowercase(),
            last.to_ascii_lowercase(),
            index,
            u8::from(newsletter),
        );
        if random.random_bool(0.2) {
            let _ = write!(self.statement, "'{} {}'", pick(REMARKS, random), pick(REMARKS, random));
        } else {
            self.statement.push_str("NULL");
        }
    }

    fn write_order(&mut self, index: u64, random: &mut StdRng) {
        let customer = skewed(self.customers(), random);
        let ordered = moment(index * 260 + random.random_range(0..260));
        let status = weighted(STATUSES, random);
        let items = random.random_range(1..=6);
        let cents = random.random_range(3..120) * 100 + pick(&[0, 50, 90, 95, 99], random);
        let (city, country, postcode) = pick(CITIES, random);
        let (first, last) = (pick(FIRST_NAMES, random), pick(LAST_NAMES, random));
        let (street, house) = (pick(STREETS, random), random.random_range(1..200));
        let _ = write!(
            self.statement,
            "{},{customer},'{ordered}','{status}',{}.{:02},'EUR',{items},'{first} {last}, {street} {house}, {:05} {city}, {country}','{}',",
            index + 1,
            cents * items / 100,
            cents * items % 100,
            postcode + random.random_range(0..90),
            pick(CARRIERS, random),
        );
        if matches!(status, "shipped" | "delivered" | "returned") {
            let _ = write!(self.statement, "'{:018}'", random.random_range(0..10u64.pow(18)));
        } else {
            self.statement.push_str("NULL");
        }
    }

    fn write_event(&mut self, index: u64, random: &mut StdRng) {
        let customer = skewed(self.customers(), random);
        let kind = weighted(KINDS, random);
        let at = moment(index * 390 + random.random_range(0..390));
        let millis = random.random_range(0..1000);
        let product = pick(PRODUCTS, random);
        let number = random.random_range(1000..4000);
        let _ = write!(
            self.statement,
            "{},{customer},'{at}.{millis:03}','{kind}','{{\"kind\": \"{kind}\", \"session\": \"{:032x}\", \"customer\": {customer}, \"agent\": \"{}\", ",
            index + 1,
            random.random::<u128>(),
            pick(BROWSERS, random),
        );
        let _ = match kind {
            "search" => write!(
                self.statement,
                "\"query\": \"{product}\", \"results\": {}, \"took_ms\": {}",
                random.random_range(0..60),
                random.random_range(2..90)
            ),
            "checkout" | "payment" => write!(
                self.statement,
                "\"order\": {}, \"items\": [{{\"product\": {number}, \"name\": \"{product}\", \"quantity\": {}}}], \"method\": \"{}\"",
                random.random_range(1..=self.count(&TABLES[1]).max(1)),
                random.random_range(1..4),
                pick(&["card", "transfer", "invoice"], random)
            ),
            _ => write!(
                self.statement,
                "\"page\": \"/products/{number}/{}\", \"referrer\": \"{}\", \"viewport\": {{\"width\": {}, \"height\": {}}}",
                product.replace(' ', "-"),
                pick(&["https://search.example/", "https://shop.example/", "https://news.example/letter"], random),
                pick(&[390, 768, 1280, 1440, 1920], random),
                pick(&[667, 844, 900, 1080], random)
            ),
        };
        self.statement.push_str("}'");
    }
}

fn pick<T: Copy>(choices: &[T], random: &mut StdRng) -> T {
    *choices.choose(random).expect("there are choices")
}

fn weighted(choices: &[(&'static str, u32)], random: &mut StdRng) -> &'static str {
    let total: u32 = choices.iter().map(|(_, weight)| weight).sum();
    let mut ticket = random.random_range(0..total);
    for (choice, weight) in choices {
        if ticket < *weight {
            return choice;
        }
        ticket -= weight;
    }
    unreachable!("the weights add up to the total")
}

/// Few customers order much, many order little.
fn skewed(count: u64, random: &mut StdRng) -> u64 {
    let position: f64 = random.random();
    1 + ((position * position * count as f64) as u64).min(count - 1)
}

/// A moment this many seconds after the beginning of 2023.
fn moment(seconds: u64) -> String {
    const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 2023;
    loop {
        let leap = u64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        if days < 365 + leap {
            break;
        }
        days -= 365 + leap;
        year += 1;
    }
    let mut month = 0;
    while days >= MONTHS[month] + u64::from(month == 1 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) {
        days -= MONTHS[month] + u64::from(month == 1 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        month += 1;
    }
    format!(
        "{year:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        month + 1,
        days + 1,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_rows_in_any_batches() {
        let mut generator = Generator::new(1, 320);
        for table in TABLES {
            let all = generator.insert(table, "none", 0, 20).to_owned();
            let one = generator.insert(table, "none", 7, 1).to_owned();
            let row = one.split_once(" VALUES ").unwrap().1;
            assert!(all.contains(row), "{row}");
            assert_ne!(Generator::new(2, 320).insert(table, "none", 0, 20), all);
        }
        assert_eq!(TABLES.iter().map(|table| generator.count(table)).sum::<u64>(), 320);
    }

    #[test]
    fn moments_are_dates() {
        assert_eq!(moment(0), "2023-01-01 00:00:00");
        assert_eq!(moment((365 + 59) * 86_400 + 3_661), "2024-02-29 01:01:01");
        assert_eq!(moment((365 + 366) * 86_400 - 1), "2024-12-31 23:59:59");
    }
}
