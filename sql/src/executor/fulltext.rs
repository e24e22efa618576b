//! Searches at work: the rows that a MATCH ... AGAINST finds, and how well a row matches.
//!
//! ```text
//! words of the search --storage::postings--> rows by their keys, with counts --Query::rank--> rows by relevance
//!                                              |
//!                       uncertain ones, and phrases: by the row's text
//! ```
//!
//! A search is run once in a statement, in the statement's view of the data; so a transaction finds its own rows, and
//! none of others that have not committed. A row that is at hand is not looked up: its relevance comes from its own
//! text, and the counts of rows from the search.
//!
//! A statement that locks what it reads takes another way to its rows, because it wants them as they are now: it locks
//! the entries of the words, and the gaps between them, as a range scan does, and each row's text decides.

use std::cell::OnceCell;
use std::rc::Rc;

use format::fulltext::Analyzer;
use rustc_hash::{FxHashMap, FxHashSet};
use storage::{ColumnSet, Posting, ReadMode, Row, ScanRange, Table, Wanted, identity_of_key};

use super::Environment;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::expression::fulltext::{Counts, Document, Query, Relevance, Search};
use crate::expression::{Datum, EvalContext, Expr, Fields};

/// What a search has found.
pub struct Found {
    search: Search,
    text: Vec<u8>,
    query: Query,
    relevance: Relevance,
    documents: Documents,
    /// The rows that match, the most relevant first.
    ranked: OnceCell<Rc<[Ranked]>>,
}

/// A row that matches: its relevance, and its key.
pub type Ranked = (f32, Rc<[u8]>);

/// The texts of an index's columns in one row.
type Texts = Vec<Option<Vec<u8>>>;

/// The rows that have some word of a search.
#[derive(Default)]
struct Documents {
    /// Their numbers, by what is the same for equal keys.
    numbers: FxHashMap<Box<[u8]>, u32>,
    /// Their keys, see [`write_key`].
    keys: Vec<Rc<[u8]>>,
    /// Their counts are those of their texts: the index does not tell which entries the reader sees.
    by_text: Vec<bool>,
    /// Of each source the counts of its rows.
    counts: Vec<FxHashMap<u32, Counts>>,
}

/// A clustered key as bytes: for each part its length (2 bytes) and its bytes.
fn write_key(key: &[Option<&[u8]>]) -> Rc<[u8]> {
    let mut bytes = Vec::new();
    for part in key {
        let part = part.unwrap_or_default();
        bytes.extend_from_slice(&(part.len() as u16).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes.into()
}

/// Reads what [`write_key`] wrote.
pub fn read_key(mut bytes: &[u8]) -> Vec<Option<&[u8]>> {
    let mut key = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (part, behind) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
        key.push(Some(part));
        bytes = behind;
    }
    key
}

/// The key of a row that has been read with its key's columns.
fn key_of_row<'r>(table: &Table, row: &'r Row, row_id: &'r [u8; 8]) -> Vec<Option<&'r [u8]>> {
    if table.has_row_id() {
        return vec![Some(&row_id[2..])];
    }
    table.indexes[0].parts.iter().map(|part| row.get(part.column)).collect()
}

fn analyzer(search: &Search) -> Result<&Analyzer> {
    search.table.analyzer(search.index).ok_or_else(|| Error::internal("a search of an index without words"))
}

/// The columns of the search's index.
fn text_columns(search: &Search) -> ColumnSet {
    let mut columns = ColumnSet::EMPTY;
    search.table.indexes[search.index].parts.iter().for_each(|part| columns.insert(part.column));
    columns
}

fn texts_of_row(search: &Search, row: &Row) -> Texts {
    search.table.indexes[search.index].parts.iter().map(|part| row.get(part.column).map(<[u8]>::to_vec)).collect()
}

/// Reads the texts of a row as the statement sees it.
fn texts_by_key(environment: &Environment<'_>, search: &Search, key: &[u8]) -> Result<Option<Texts>> {
    let mut row = Row::new();
    let key = read_key(key);
    let columns = text_columns(search);
    let mut trx = environment.trx.borrow_mut();
    let found = trx.get(&search.table, 0, &key, ReadMode::Consistent, &columns, &mut row).or_sql()?;
    Ok(found.then(|| texts_of_row(search, &row)))
}

/// A row whose counts come from the index; its texts are read when a phrase asks for them.
struct Indexed<'d> {
    environment: &'d Environment<'d>,
    found: (&'d Search, &'d Documents),
    number: u32,
    texts: Option<Texts>,
}

impl Document for Indexed<'_> {
    fn counts(&mut self, source: usize) -> Counts {
        self.found.1.counts[source].get(&self.number).copied().unwrap_or_default()
    }

    fn texts(&mut self) -> Result<&[Option<Vec<u8>>]> {
        if self.texts.is_none() {
            let (search, documents) = self.found;
            let key = &documents.keys[self.number as usize];
            self.texts = Some(texts_by_key(self.environment, search, key)?.unwrap_or_default());
        }
        Ok(self.texts.as_deref().unwrap_or_default())
    }
}

/// A row whose texts are at hand.
struct AtHand<'t> {
    counts: Vec<Counts>,
    texts: &'t [Option<Vec<u8>>],
}

impl Document for AtHand<'_> {
    fn counts(&mut self, source: usize) -> Counts {
        self.counts[source]
    }

    fn texts(&mut self) -> Result<&[Option<Vec<u8>>]> {
        Ok(self.texts)
    }
}

impl Documents {
    fn number(
        &mut self,
        environment: &Environment<'_>,
        table: &Table,
        posting: &Posting<'_>,
        identity: &mut Vec<u8>,
    ) -> Result<u32> {
        identity.clear();
        identity_of_key(table, posting.key, identity);
        if let Some(known) = self.numbers.get(&identity[..]) {
            return Ok(*known);
        }
        environment.memory.keep(2 * identity.len() as u64 + 96)?;
        let number = self.keys.len() as u32;
        self.numbers.insert(identity[..].into(), number);
        self.keys.push(write_key(posting.key));
        self.by_text.push(false);
        Ok(number)
    }

    /// Counts what the index has of the sources from `first` on.
    fn count(&mut self, environment: &Environment<'_>, search: &Search, query: &Query, first: usize) -> Result<()> {
        let mut identity = Vec::new();
        let analyzer = analyzer(search)?;
        for source in &query.sources()[first..] {
            let mut counts: FxHashMap<u32, Counts> = FxHashMap::default();
            // Of each row the word that was counted last, and of the current word its number.
            let mut last: FxHashMap<u32, u32> = FxHashMap::default();
            let mut word: Vec<u8> = Vec::new();
            let mut word_number = 0_u32;
            let mut failed = None;
            let columns = search.table.indexes[search.index].parts.len();
            let mut take = |posting: &Posting<'_>| -> Result<()> {
                if source.prefix && (word_number == 0 || !analyzer.collation().equal(&word, posting.word)) {
                    word = posting.word.to_vec();
                    word_number += 1;
                }
                let number = self.number(environment, &search.table, posting, &mut identity)?;
                if !posting.certain {
                    self.by_text[number as usize] = true;
                    return Ok(());
                }
                let is_new = !counts.contains_key(&number);
                if is_new {
                    environment.memory.keep(48)?;
                }
                let own = counts.entry(number).or_default();
                let count = posting.frequency.count(columns);
                if !source.prefix {
                    *own = Counts { frequency: own.frequency.saturating_add(count), words: 1 };
                    return Ok(());
                }
                // Another column may have the same word; of other words only their number counts.
                let is_same = last.insert(number, word_number) == Some(word_number);
                if !is_same {
                    own.words += 1;
                }
                if own.words == 1 {
                    own.frequency = own.frequency.saturating_add(count);
                }
                Ok(())
            };
            let wanted = Wanted { word: &source.word, prefix: source.prefix, newest: false };
            let read = environment.trx.borrow_mut().postings(&search.table, search.index, wanted, &mut |posting| {
                take(posting).map_err(|error| {
                    failed = Some(error);
                    storage::Error::Interrupted
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            read.or_sql()?;
            self.counts.push(counts);
        }
        Ok(())
    }

    /// Counts the words of rows of which the index does not tell enough.
    fn count_texts(
        &mut self,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        search: &Search,
        query: &Query,
    ) -> Result<()> {
        let analyzer = analyzer(search)?;
        for number in 0..self.keys.len() {
            if !self.by_text[number] {
                continue;
            }
            environment.tick(context)?;
            let texts = texts_by_key(environment, search, &self.keys[number])?;
            let own = query.count(&texts.unwrap_or_default(), analyzer);
            for (counts, own) in self.counts.iter_mut().zip(own) {
                match own.frequency {
                    0 => counts.remove(&(number as u32)),
                    _ => counts.insert(number as u32, own),
                };
            }
        }
        Ok(())
    }
}

impl Found {
    fn run(environment: &Environment<'_>, context: &EvalContext<'_>, search: &Search, text: &[u8]) -> Result<Found> {
        let analyzer = analyzer(search)?;
        let query = Query::compile(text, search.mode, analyzer).map_err(|error| Error::fulltext_syntax(&error.0))?;
        let mut found = Found {
            search: search.clone(),
            text: text.to_vec(),
            query,
            relevance: Relevance::default(),
            documents: Documents::default(),
            ranked: OnceCell::new(),
        };
        found.count(environment, context, 0)?;
        if search.mode.expansion {
            let mut words: Vec<Vec<u8>> = Vec::new();
            for (_, key) in found.rank_all(environment, context)?.iter() {
                environment.tick(context)?;
                for text in texts_by_key(environment, search, key)?.iter().flatten().flatten() {
                    let mut failed = None;
                    analyzer.count(text, &mut |word, _| {
                        failed = failed.take().or(environment.memory.keep(word.len() as u64 + 24).err());
                        words.push(word.to_vec());
                    });
                    failed.map_or(Ok(()), Err)?;
                }
                words.sort_by(|a, b| analyzer.collation().compare(a, b));
                words.dedup_by(|a, b| analyzer.collation().equal(a, b));
            }
            let first = found.query.sources().len();
            found.query.expand(&words, analyzer);
            found.count(environment, context, first)?;
        }
        Ok(found)
    }

    fn count(&mut self, environment: &Environment<'_>, context: &EvalContext<'_>, first: usize) -> Result<()> {
        self.documents.count(environment, &self.search, &self.query, first)?;
        self.documents.count_texts(environment, context, &self.search, &self.query)?;
        let rows = environment.instance.engine.table_statistics(&self.search.table).rows;
        let counts = &self.documents.counts;
        let words = |source: usize| counts[source].values().map(|counts| u64::from(counts.words)).sum();
        self.relevance = self.query.relevance(rows, &words);
        Ok(())
    }

    fn rank_all(&self, environment: &Environment<'_>, context: &EvalContext<'_>) -> Result<Vec<Ranked>> {
        let analyzer = analyzer(&self.search)?;
        let mut ranked = Vec::new();
        for (number, key) in self.documents.keys.iter().enumerate() {
            environment.tick(context)?;
            let number = number as u32;
            let mut document = Indexed { environment, found: (&self.search, &self.documents), number, texts: None };
            if let Some(rank) = self.query.rank(&mut document, &self.relevance, analyzer)? {
                ranked.push((rank, key.clone()));
            }
        }
        sort(&mut ranked);
        Ok(ranked)
    }

    /// How well a row with these texts matches.
    fn rank_of(&self, texts: &[Option<Vec<u8>>]) -> Result<Option<f32>> {
        let analyzer = analyzer(&self.search)?;
        let mut document = AtHand { counts: self.query.count(texts, analyzer), texts };
        self.query.rank(&mut document, &self.relevance, analyzer)
    }

    /// The rows that match as they are now, locked.
    fn lock_all(
        &self,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        mode: ReadMode,
    ) -> Result<Vec<Ranked>> {
        let (search, table) = (&self.search, &self.search.table);
        let mut words: Vec<Vec<u8>> = Vec::new();
        for source in self.query.sources() {
            if !source.prefix {
                words.push(source.word.to_vec());
                continue;
            }
            let wanted = Wanted { word: &source.word, prefix: true, newest: true };
            let mut trx = environment.trx.borrow_mut();
            let read = trx.postings(table, search.index, wanted, &mut |posting| {
                if words.last().is_none_or(|word| word != posting.word) {
                    words.push(posting.word.to_vec());
                }
                Ok(())
            });
            read.or_sql()?;
        }
        // A row that does not match is locked only while its text is looked at, where the level allows that.
        let mode = match mode {
            ReadMode::Exclusive(storage::IfLocked::Committed) => ReadMode::EXCLUSIVE,
            mode => mode,
        };
        let columns = text_columns(search);
        let mut seen: FxHashSet<Rc<[u8]>> = FxHashSet::default();
        let mut ranked = Vec::new();
        let mut row = Row::new();
        for word in &words {
            let key = [Some(&word[..])];
            let range = ScanRange::prefix(&key);
            let mut with_key = columns;
            table.indexes[0].parts.iter().for_each(|part| with_key.insert(part.column));
            let mut cursor =
                environment.trx.borrow_mut().cursor(table, search.index, mode, with_key, range).or_sql()?;
            while cursor.next(&mut environment.trx.borrow_mut(), &mut row).or_sql()? {
                environment.tick(context)?;
                let row_id = row.row_id.to_be_bytes();
                let key = write_key(&key_of_row(table, &row, &row_id));
                if !seen.insert(key.clone()) {
                    continue;
                }
                environment.memory.keep(2 * key.len() as u64 + 64)?;
                match self.rank_of(&texts_of_row(search, &row))? {
                    Some(rank) => ranked.push((rank, key)),
                    None => cursor.unlock_row(&mut environment.trx.borrow_mut()),
                }
            }
        }
        sort(&mut ranked);
        Ok(ranked)
    }
}

/// The most relevant first; of the same relevance in the order of their keys.
fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
}

/// The search for a text, which is run if it has not been in this statement.
fn find(environment: &Environment<'_>, context: &EvalContext<'_>, search: &Search, text: &[u8]) -> Result<Rc<Found>> {
    let is_it = |found: &&Rc<Found>| found.search == *search && found.text == text;
    if let Some(found) = environment.searches.borrow().iter().find(is_it) {
        return Ok(found.clone());
    }
    let found = Rc::new(Found::run(environment, context, search, text)?);
    environment.searches.borrow_mut().push(found.clone());
    Ok(found)
}

/// How well a row matches a search, 0 if it does not. `args` are the columns of the search's index, and the text.
pub fn relevance(
    environment: &Environment<'_>,
    search: &Search,
    args: &[Expr],
    context: &EvalContext<'_>,
    row: &dyn Fields,
) -> Result<f64> {
    let Some((against, columns)) = args.split_last() else { return Ok(0.0) };
    let Datum::Bytes(text) = against.eval(context, row)? else { return Ok(0.0) };
    let found = find(environment, context, search, &text)?;
    let mut texts: Texts = Vec::with_capacity(columns.len());
    for column in columns {
        texts.push(match column.eval(context, row)? {
            Datum::Bytes(text) => Some(text.into_owned()),
            _ => None,
        });
    }
    Ok(found.rank_of(&texts)?.map_or(0.0, f64::from))
}

/// The rows that match, the most relevant first. With a locking mode they are locked.
pub fn rows(
    environment: &Environment<'_>,
    context: &EvalContext<'_>,
    search: &Search,
    text: &[u8],
    mode: ReadMode,
) -> Result<Rc<[Ranked]>> {
    let found = find(environment, context, search, text)?;
    if !environment.trx.borrow().reads_consistently(mode) {
        return Ok(found.lock_all(environment, context, mode)?.into());
    }
    if let Some(ranked) = found.ranked.get() {
        return Ok(ranked.clone());
    }
    let ranked: Rc<[Ranked]> = found.rank_all(environment, context)?.into();
    Ok(found.ranked.get_or_init(|| ranked).clone())
}
