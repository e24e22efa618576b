//! TPC-H's rows as files that LOAD DATA reads: eight tables after clause 4.2.3 of the specification.
//!
//! The rows are not dbgen's, whose random numbers are its own, but have its distributions: keys with gaps, customers
//! without orders, the four suppliers of a part, dates that follow each other, the words that queries look for. A seed and a
//! scale give the same files each time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::words::{COLORS, CONTAINERS, INSTRUCTIONS, MODES, NATIONS, PRIORITIES, Prose, REGIONS, SEGMENTS, TYPES};

/// The tables, parents first.
pub const TABLES: [&str; 8] = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// Days of 1992-01-01 to 1998-12-31.
const DAYS: u32 = 2557;
/// 1995-06-17, which the specification takes to be today.
const TODAY: u32 = 1263;

/// How many rows there are of what the scale multiplies.
struct Counts {
    suppliers: u64,
    customers: u64,
    parts: u64,
    orders: u64,
    clerks: u64,
}

struct Generator {
    random: StdRng,
    prose: Prose,
    counts: Counts,
    dates: Vec<String>,
}

/// Writes the files `TABLE.tbl` into a directory. Between columns stands `|`.
pub fn write(directory: &Path, scale: f64, seed: u64) -> io::Result<()> {
    let of = |rows: f64| ((rows * scale).round() as u64).max(1);
    let counts = Counts {
        suppliers: of(10_000.0).max(100),
        customers: of(150_000.0).max(3),
        parts: of(200_000.0),
        orders: of(1_500_000.0),
        clerks: of(1000.0),
    };
    let mut random = StdRng::seed_from_u64(seed);
    let prose = Prose::new(&mut random);
    let mut generator = Generator { random, prose, counts, dates: dates() };
    let file = |table: &str| File::create(directory.join(table).with_extension("tbl")).map(BufWriter::new);
    generator.fixed(file("region")?, file("nation")?)?;
    generator.suppliers(file("supplier")?)?;
    generator.customers(file("customer")?)?;
    generator.parts(file("part")?, file("partsupp")?)?;
    generator.orders(file("orders")?, file("lineitem")?)
}

/// All days of the seven years as texts.
fn dates() -> Vec<String> {
    let mut dates = Vec::with_capacity(DAYS as usize);
    for year in 1992..=1998 {
        let february = if year % 4 == 0 { 29 } else { 28 };
        for (month, days) in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate() {
            dates.extend((1..=days).map(|day| format!("{year}-{:02}-{day:02}", month + 1)));
        }
    }
    dates
}

/// An amount of cents.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

fn retail_cents(part: u64) -> u64 {
    90_000 + part / 10 % 20_001 + 100 * (part % 1000)
}

/// One of the four suppliers of a part.
fn supplier_of(part: u64, which: u64, suppliers: u64) -> u64 {
    let mut step = suppliers / 4 + (part - 1) / suppliers;
    // With other numbers of suppliers than the specification's, the fourth or the third could be the first again.
    if 2 * step % suppliers == 0 || 3 * step % suppliers == 0 {
        step += 1;
    }
    (part + which * step) % suppliers + 1
}

impl Generator {
    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.random.random_range(0..words.len())]
    }

    fn comment(&mut self, shortest: usize, longest: usize) -> &str {
        self.prose.piece(&mut self.random, shortest, longest)
    }

    fn address(&mut self) -> String {
        const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ";
        let length = self.random.random_range(10..=40);
        (0..length).map(|_| char::from(LETTERS[self.random.random_range(0..LETTERS.len())])).collect()
    }

    fn phone(&mut self, nation: usize) -> String {
        let mut digits = |range: std::ops::Range<u32>| self.random.random_range(range);
        format!("{}-{}-{}-{}", nation + 10, digits(100..1000), digits(100..1000), digits(1000..10_000))
    }

    fn fixed(&mut self, mut regions: impl Write, mut nations: impl Write) -> io::Result<()> {
        for (key, name) in REGIONS.iter().enumerate() {
            writeln!(regions, "{key}|{name}|{}", self.comment(31, 115))?;
        }
        for (key, (name, region)) in NATIONS.iter().enumerate() {
            writeln!(nations, "{key}|{name}|{region}|{}", self.comment(31, 114))?;
        }
        regions.flush()?;
        nations.flush()
    }

    fn suppliers(&mut self, mut out: impl Write) -> io::Result<()> {
        // Five of ten thousand have complaints, five are recommended.
        let each = (self.counts.suppliers / 2000).max(1);
        let marked: Vec<u64> = (0..2 * each).map(|_| self.random.random_range(1..=self.counts.suppliers)).collect();
        for key in 1..=self.counts.suppliers {
            let (address, nation) = (self.address(), self.random.random_range(0..NATIONS.len()));
            let (phone, balance) = (self.phone(nation), self.random.random_range(-99_999..=999_999));
            let mut comment = self.comment(25, 100).to_string();
            if let Some(at) = marked.iter().position(|marked| *marked == key) {
                let what = if (at as u64) < each { "Complaints" } else { "Recommends" };
                comment = format!("{}Customer {}{what}", &comment[..12], &comment[12..20]);
            }
            writeln!(out, "{key}|Supplier#{key:09}|{address}|{nation}|{phone}|{}|{comment}", money(balance))?;
        }
        out.flush()
    }

    fn customers(&mut self, mut out: impl Write) -> io::Result<()> {
        for key in 1..=self.counts.customers {
            let (address, nation) = (self.address(), self.random.random_range(0..NATIONS.len()));
            let (phone, balance) = (self.phone(nation), self.random.random_range(-99_999..=999_999));
            let segment = self.pick(SEGMENTS);
            write!(out, "{key}|Customer#{key:09}|{address}|{nation}|{phone}|{}|{segment}|", money(balance))?;
            writeln!(out, "{}", self.comment(29, 116))?;
        }
        out.flush()
    }

    fn parts(&mut self, mut parts: impl Write, mut supplies: impl Write) -> io::Result<()> {
        for key in 1..=self.counts.parts {
            let mut colors: Vec<&str> = Vec::with_capacity(5);
            while colors.len() < 5 {
                let color = self.pick(COLORS);
                if !colors.contains(&color) {
                    colors.push(color);
                }
            }
            let (maker, brand) = (self.random.random_range(1..=5), self.random.random_range(1..=5));
            let kind = TYPES.map(|syllables| self.pick(syllables)).join(" ");
            let size = self.random.random_range(1..=50);
            let container = CONTAINERS.map(|syllables| self.pick(syllables)).join(" ");
            let price = money(retail_cents(key) as i64);
            write!(parts, "{key}|{}|Manufacturer#{maker}|Brand#{maker}{brand}|", colors.join(" "))?;
            writeln!(parts, "{kind}|{size}|{container}|{price}|{}", self.comment(5, 22))?;
            for which in 0..4 {
                let supplier = supplier_of(key, which, self.counts.suppliers);
                let (available, cost) = (self.random.random_range(1..=9999), self.random.random_range(100..=100_000));
                let comment = self.comment(49, 198);
                writeln!(supplies, "{key}|{supplier}|{available}|{}|{comment}", money(cost))?;
            }
        }
        parts.flush()?;
        supplies.flush()
    }

    fn orders(&mut self, mut orders: impl Write, mut items: impl Write) -> io::Result<()> {
        for number in 0..self.counts.orders {
            // The first eight of each 32 keys.
            let key = number / 8 * 32 + number % 8 + 1;
            // Every third customer has no orders.
            let customer = loop {
                let customer = self.random.random_range(1..=self.counts.customers);
                if customer % 3 != 0 {
                    break customer;
                }
            };
            let ordered = self.random.random_range(0..DAYS - 151);
            let (mut total, mut shipped, lines) = (0, 0, self.random.random_range(1..=7));
            for line in 1..=lines {
                let part = self.random.random_range(1..=self.counts.parts);
                let supplier = supplier_of(part, self.random.random_range(0..4), self.counts.suppliers);
                let quantity = self.random.random_range(1..=50);
                let price = quantity * retail_cents(part);
                let (discount, tax) = (self.random.random_range(0..=10), self.random.random_range(0..=8));
                let ship = ordered + self.random.random_range(1..=121);
                let commit = ordered + self.random.random_range(30..=90);
                let receipt = ship + self.random.random_range(1..=30);
                let returned = if receipt <= TODAY { self.pick(&["R", "A"]) } else { "N" };
                let is_shipped = ship <= TODAY;
                shipped += u32::from(is_shipped);
                total += price * (100 + tax) * (100 - discount) / 10_000;
                let status = if is_shipped { "F" } else { "O" };
                let (instruction, mode) = (self.pick(INSTRUCTIONS), self.pick(MODES));
                write!(items, "{key}|{part}|{supplier}|{line}|{quantity}|{}|", money(price as i64))?;
                write!(items, "0.{discount:02}|0.{tax:02}|{returned}|{status}|")?;
                let [ship, commit, receipt] = [ship, commit, receipt].map(|day| &self.dates[day as usize]);
                write!(items, "{ship}|{commit}|{receipt}|{instruction}|{mode}|")?;
                writeln!(items, "{}", self.prose.piece(&mut self.random, 10, 43))?;
            }
            let status = match shipped {
                0 => "O",
                all if all == lines => "F",
                _ => "P",
            };
            let (priority, clerk) = (self.pick(PRIORITIES), self.random.random_range(1..=self.counts.clerks));
            write!(orders, "{key}|{customer}|{status}|{}|{}|", money(total as i64), self.dates[ordered as usize])?;
            writeln!(orders, "{priority}|Clerk#{clerk:09}|0|{}", self.comment(19, 78))?;
        }
        orders.flush()?;
        items.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_are_those_of_seven_years() {
        let dates = dates();
        assert_eq!(dates.len(), DAYS as usize);
        assert_eq!(dates[TODAY as usize], "1995-06-17");
    }

    #[test]
    fn a_part_has_four_suppliers() {
        for count in [100, 120, 10_000] {
            for part in 1..=20 * count {
                let mut suppliers: Vec<u64> = (0..4).map(|which| supplier_of(part, which, count)).collect();
                suppliers.sort_unstable();
                suppliers.dedup();
                assert_eq!(suppliers.len(), 4, "part {part} of {count} suppliers");
            }
        }
    }
}
