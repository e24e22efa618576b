//! Finds anomalies in a history of lists.
//!
//! The idea is Elle's (Kingsbury & Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB
//! 2020): a list that was only ever appended to shows the order of its elements. So the longest list that a transaction
//! read gives the order of the writers, and each read shows which writers came before it and which after.
//!
//! ```text
//! list of key 7 at the end:   [3, 8, 5]          writer(3) -ww-> writer(8) -ww-> writer(5)
//! T read 7 as                 [3, 8]             writer(8) -wr-> T -rw-> writer(5)
//! ```
//!
//! A cycle of such edges is an anomaly, named as in Adya's thesis by the kinds of its edges.
//!
//! Not here: predicates. G2 is G2-item.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::graph::{Circle, Graph, Why};
use super::history::{Element, End, Key, Op, Txn};

/// The kinds of anomalies, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// An element whose commit was acknowledged is not in the list.
    LostAppend,
    /// A transaction saw a write that was not durable yet and that a crash took back: its commit was not answered.
    Vanished,
    /// Two reads of a list that contradict each other, or an element that is there twice.
    Garbled,
    /// A transaction does not see its own appends, or sees another list than before.
    Internal,
    /// A transaction saw a write that was rolled back.
    G1a,
    /// A transaction saw a write that its writer replaced before it committed.
    G1b,
    /// A cycle of writes.
    G0,
    /// A cycle of writes and reads.
    G1c,
    /// Two transactions that read the same state of a list both appended to it.
    LostUpdate,
    /// A cycle with one anti-dependency.
    GSingle,
    /// A cycle with several, no two of them adjacent.
    GNonadjacent,
    /// Any other cycle: write skew.
    G2Item,
    /// A cycle that needs the order in which a client did things, with at most one anti-dependency.
    Stale,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::LostAppend => "lost append",
            Class::Vanished => "vanished in a crash",
            Class::Garbled => "garbled list",
            Class::Internal => "internal",
            Class::G1a => "G1a (aborted read)",
            Class::G1b => "G1b (intermediate read)",
            Class::G0 => "G0 (dirty write)",
            Class::G1c => "G1c (circular information flow)",
            Class::LostUpdate => "lost update",
            Class::GSingle => "G-single (read skew)",
            Class::GNonadjacent => "G-nonadjacent",
            Class::G2Item => "G2-item (write skew)",
            Class::Stale => "stale read of the same client",
        })
    }
}

/// One anomaly, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    pub class: Class,
    pub text: String,
}

/// The anomalies that an isolation level does not exclude. All others must not occur.
pub fn allowed(level: super::Level) -> &'static [Class] {
    use super::Level;
    match level {
        // REPEATABLE READ reads its snapshot, and writes to the newest version.
        Level::ReadCommitted | Level::RepeatableRead => &[
            Class::Vanished,
            Class::Internal,
            Class::LostUpdate,
            Class::GSingle,
            Class::GNonadjacent,
            Class::G2Item,
            Class::Stale,
        ],
        Level::Snapshot => &[Class::G2Item],
        Level::Serializable => &[],
    }
}

/// Checks a history. `last` is each list at the end, read outside of the history.
pub fn check(history: &[Txn], last: &BTreeMap<Key, Vec<Element>>) -> Vec<Anomaly> {
    let mut check = Check { history, writers: HashMap::new(), orders: BTreeMap::new(), anomalies: Vec::new() };
    check.find_writers();
    check.find_orders(last);
    check.find_lost(last);
    let mut graph = Graph::new(history.len());
    for (at, txn) in history.iter().enumerate() {
        if txn.end == End::Committed {
            check.internal(at, txn);
            check.dirty_reads(at, txn);
        }
    }
    check.find_lost_updates();
    check.dependencies(&mut graph);
    check.circles(&graph);
    check.client_order(&mut graph);
    check.stale(&graph);
    check.anomalies.sort_by_key(|anomaly| anomaly.class);
    check.anomalies
}

/// A list as it was read, and the transaction that read it; none for the last look.
type ReadOf<'a> = (&'a [Element], Option<usize>);

struct Check<'a> {
    history: &'a [Txn],
    /// The transaction that appended an element, and whether that was its last append to the list.
    writers: HashMap<(Key, Element), (usize, bool)>,
    /// The order of each list's elements.
    orders: BTreeMap<Key, Vec<Element>>,
    anomalies: Vec<Anomaly>,
}

impl Check<'_> {
    fn report(&mut self, class: Class, text: String) {
        self.anomalies.push(Anomaly { class, text });
    }

    fn find_writers(&mut self) {
        for (at, txn) in self.history.iter().enumerate() {
            let mut last: HashMap<Key, Element> = HashMap::new();
            for op in &txn.ops {
                if let Op::Append(key, element) = op {
                    if let Some(before) = last.insert(*key, *element) {
                        self.writers.insert((*key, before), (at, false));
                    }
                    self.writers.insert((*key, *element), (at, true));
                }
            }
        }
    }

    /// Whether a transaction has certainly committed: its client says so, or another one saw its write.
    fn happened(&self, at: usize) -> bool {
        let is_there = |key: &Key, element: &Element| self.orders.get(key).is_some_and(|order| order.contains(element));
        match self.history[at].end {
            End::Committed => true,
            End::Aborted => false,
            End::Unknown => self.history[at].ops.iter().any(|op| match op {
                Op::Append(key, element) => is_there(key, element),
                Op::Read(..) => false,
            }),
        }
    }

    fn find_orders(&mut self, last: &BTreeMap<Key, Vec<Element>>) {
        let history = self.history;
        let mut lists: BTreeMap<Key, Vec<ReadOf<'_>>> = BTreeMap::new();
        for (at, txn) in history.iter().enumerate().filter(|(_, txn)| txn.end == End::Committed) {
            for op in &txn.ops {
                if let Op::Read(key, list) = op {
                    lists.entry(*key).or_default().push((list, Some(at)));
                }
            }
        }
        for (key, list) in last {
            lists.entry(*key).or_default().push((list, None));
        }
        for (key, reads) in lists {
            // The list at the end counts most; else the longest one.
            let longest = last.get(&key).map(|list| &list[..]);
            let longest = longest.or_else(|| reads.iter().map(|read| read.0).max_by_key(|list| list.len()));
            let longest = longest.unwrap_or_default();
            let mut sorted = longest.to_vec();
            sorted.sort_unstable();
            if sorted.windows(2).any(|two| two[0] == two[1]) {
                self.report(Class::Garbled, format!("list {key} has an element twice: {longest:?}"));
            }
            for (list, reader) in reads {
                if !longest.starts_with(list) {
                    let who = reader.map_or_else(String::new, |at| history[at].to_string());
                    let common = list.iter().zip(longest).take_while(|(one, other)| one == other).count();
                    let unanswered = |element: &Element| {
                        let writer = self.writers.get(&(key, *element));
                        writer.is_some_and(|(writer, _)| history[*writer].end == End::Unknown)
                    };
                    let vanished = list[common..].iter().all(unanswered);
                    let class = if vanished { Class::Vanished } else { Class::Garbled };
                    self.report(class, format!("list {key} is {longest:?}, but was read as {list:?} by {who}"));
                }
            }
            self.orders.insert(key, longest.to_vec());
        }
    }

    fn find_lost(&mut self, last: &BTreeMap<Key, Vec<Element>>) {
        for txn in self.history.iter().filter(|txn| txn.end == End::Committed) {
            for op in &txn.ops {
                if let Op::Append(key, element) = op
                    && last.get(key).is_none_or(|list| !list.contains(element))
                {
                    self.anomalies.push(Anomaly {
                        class: Class::LostAppend,
                        text: format!("element {element} of list {key} is gone, of {txn}"),
                    });
                }
            }
        }
    }

    /// Within one transaction a list is what it was before, plus its own appends.
    fn internal(&mut self, at: usize, txn: &Txn) {
        let mut known: HashMap<Key, Vec<Element>> = HashMap::new();
        let mut own: HashMap<Key, Vec<Element>> = HashMap::new();
        for op in &txn.ops {
            match op {
                Op::Append(key, element) => {
                    own.entry(*key).or_default().push(*element);
                    if let Some(list) = known.get_mut(key) {
                        list.push(*element);
                    }
                }
                Op::Read(key, list) => {
                    let right = match (known.get(key), own.get(key)) {
                        (Some(known), _) => known == list,
                        (None, Some(own)) => list.ends_with(own),
                        (None, None) => true,
                    };
                    if !right {
                        let text = format!("list {key} is another than before, in {}", self.history[at]);
                        self.report(Class::Internal, text);
                    }
                    known.insert(*key, list.clone());
                }
            }
        }
    }

    /// The part of a read that others wrote: the list without the reader's own appends at its end.
    fn foreign<'l>(&self, at: usize, key: Key, list: &'l [Element]) -> &'l [Element] {
        let own = |element: &Element| self.writers.get(&(key, *element)).is_some_and(|(writer, _)| *writer == at);
        let count = list.iter().rev().take_while(|element| own(element)).count();
        &list[..list.len() - count]
    }

    fn dirty_reads(&mut self, at: usize, txn: &Txn) {
        for op in &txn.ops {
            let Op::Read(key, list) = op else { continue };
            let aborted = list.iter().find_map(|element| {
                let (writer, _) = self.writers.get(&(*key, *element))?;
                (self.history[*writer].end == End::Aborted).then_some((*element, *writer))
            });
            if let Some((element, writer)) = aborted {
                let text = format!("element {element} of list {key}: {}\n    was read by {txn}", self.history[writer]);
                self.report(Class::G1a, text);
            }
            let Some(newest) = self.foreign(at, *key, list).last().copied() else { continue };
            if let Some((writer, false)) = self.writers.get(&(*key, newest)).copied()
                && writer != at
            {
                let text = format!("element {newest} of list {key}: {}\n    was read by {txn}", self.history[writer]);
                self.report(Class::G1b, text);
            }
        }
    }

    /// Two committed transactions that read the same state of a list and then appended to it.
    fn find_lost_updates(&mut self) {
        let mut seen: HashMap<(Key, Option<Element>), usize> = HashMap::new();
        for (at, txn) in self.history.iter().enumerate().filter(|(_, txn)| txn.end == End::Committed) {
            let mut read: HashMap<Key, Option<Element>> = HashMap::new();
            let mut updated = Vec::new();
            for op in &txn.ops {
                match op {
                    Op::Read(key, list) => {
                        let state = self.foreign(at, *key, list).last().copied();
                        read.entry(*key).or_insert(state);
                    }
                    Op::Append(key, _) => {
                        if let Some(state) = read.get(key)
                            && !updated.contains(&(*key, *state))
                        {
                            updated.push((*key, *state));
                        }
                    }
                }
            }
            for state in updated {
                if let Some(other) = seen.insert(state, at) {
                    let text = format!("list {}: {}\n    and {txn}", state.0, self.history[other]);
                    self.report(Class::LostUpdate, text);
                }
            }
        }
    }

    fn dependencies(&self, graph: &mut Graph) {
        for (key, order) in &self.orders {
            let writer = |element: Option<&Element>| element.and_then(|element| self.writers.get(&(*key, *element)));
            for two in order.windows(2) {
                if let (Some((before, _)), Some((after, _))) = (writer(Some(&two[0])), writer(Some(&two[1]))) {
                    graph.add(*before, *after, Why::Ww);
                }
            }
        }
        for (at, txn) in self.history.iter().enumerate().filter(|(_, txn)| txn.end == End::Committed) {
            for op in &txn.ops {
                let Op::Read(key, list) = op else { continue };
                let Some(order) = self.orders.get(key) else { continue };
                let foreign = self.foreign(at, *key, list);
                if !order.starts_with(foreign) {
                    continue; // Reported as garbled.
                }
                let writer = |element: &Element| self.writers.get(&(*key, *element)).map(|(writer, _)| *writer);
                if let Some(writer) = foreign.last().and_then(writer) {
                    graph.add(writer, at, Why::Wr);
                }
                // The next writer had not appended yet.
                if let Some(next) = order.get(foreign.len()).and_then(writer) {
                    graph.add(at, next, Why::Rw);
                }
            }
        }
    }

    fn circles(&mut self, graph: &Graph) {
        for members in graph.components() {
            let members: Vec<usize> = members.into_iter().filter(|at| self.happened(*at)).collect();
            let classes: [(Class, Option<Circle>); 5] = [
                (Class::G0, graph.circle(&members, |why| why == Why::Ww, |_, why| why == Why::Ww)),
                (Class::G1c, graph.circle(&members, |why| why == Why::Wr, |_, why| why != Why::Rw)),
                (Class::GSingle, graph.circle(&members, |why| why == Why::Rw, |_, why| why != Why::Rw)),
                (
                    Class::GNonadjacent,
                    graph.circle(&members, |why| why == Why::Rw, |was_rw, why| !(was_rw && why == Why::Rw)),
                ),
                (Class::G2Item, graph.circle(&members, |why| why == Why::Rw, |_, _| true)),
            ];
            // The strongest class says most; a cycle with one anti-dependency belongs to weaker classes, too.
            if let Some((class, circle)) =
                classes.into_iter().find_map(|(class, circle)| circle.map(|circle| (class, circle)))
            {
                let text = self.tell(&circle);
                self.report(class, text);
            }
        }
    }

    fn client_order(&self, graph: &mut Graph) {
        let mut before: HashMap<usize, usize> = HashMap::new();
        for (at, txn) in self.history.iter().enumerate().filter(|(at, _)| self.happened(*at)) {
            if let Some(before) = before.insert(txn.client, at) {
                graph.add(before, at, Why::Client);
            }
        }
    }

    /// Cycles that need the order in which clients did things.
    fn stale(&mut self, graph: &Graph) {
        for members in graph.components() {
            let members: Vec<usize> = members.into_iter().filter(|at| self.happened(*at)).collect();
            let circle = graph.circle(&members, |why| why == Why::Rw, |_, why| why != Why::Rw);
            if let Some(circle) = circle.filter(|circle| circle.iter().any(|(_, why)| *why == Why::Client)) {
                let text = self.tell(&circle);
                self.report(Class::Stale, text);
            }
        }
    }

    fn tell(&self, circle: &Circle) -> String {
        let name = |at: usize| format!("T{}", at % circle.len() + 1);
        let mut text = String::new();
        for (at, (txn, _)) in circle.iter().enumerate() {
            text += &format!("\n    {}: {}", name(at), self.history[*txn]);
        }
        for (at, (_, why)) in circle.iter().enumerate() {
            let why = match why {
                Why::Ww => "appended before",
                Why::Wr => "was read by",
                Why::Rw => "did not yet see",
                Why::Client => "was answered before",
            };
            text += &format!("\n    {} {why} {}", name(at), name(at + 1));
        }
        text
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
