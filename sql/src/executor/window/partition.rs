//! The rows of one partition in their order, and which of them are peers: equal by that order.

use std::cmp::Ordering;
use std::ops::Range;

use format::value::Value;

use super::row::{KeptRow, WindowRow};
use crate::expression::{Datum, Expr, order};

pub struct Partition<'p> {
    /// Behind `width` parts of the partition their keys have those of the order.
    rows: &'p [WindowRow],
    width: usize,
    pub order: &'p [(Expr, bool)],
    place: &'p [u16],
    /// Where each group of peers begins, and the end of the last.
    groups: Vec<usize>,
}

impl<'p> Partition<'p> {
    pub fn new(rows: &'p [WindowRow], width: usize, order: &'p [(Expr, bool)], place: &'p [u16]) -> Partition<'p> {
        let mut partition = Partition { rows, width, order, place, groups: vec![0] };
        for at in 1..rows.len() {
            if !partition.are_peers(at - 1, at) {
                partition.groups.push(at);
            }
        }
        partition.groups.push(rows.len());
        partition
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn row(&self, at: usize) -> KeptRow<'p> {
        KeptRow { place: self.place, kept: &self.rows[at] }
    }

    /// The value of the only expression of the order.
    pub fn key(&self, at: usize) -> &'p Value {
        &self.rows[at].keys[self.width]
    }

    /// How the key of a row compares with a value, in the order's direction.
    pub fn compare_key(&self, at: usize, value: &Datum<'_>) -> Ordering {
        let (expr, descending) = &self.order[0];
        let compared = order(&Datum::from(self.key(at)), value, expr.ty.collation);
        if *descending { compared.reverse() } else { compared }
    }

    fn are_peers(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.rows[a].keys[self.width..], &self.rows[b].keys[self.width..]);
        let equal = |((a, b), (expr, _)): ((&Value, &Value), &(Expr, bool))| {
            order(&Datum::from(a), &Datum::from(b), expr.ty.collation) == Ordering::Equal
        };
        a.iter().zip(b).zip(self.order).all(equal)
    }

    /// The groups of peers, in order.
    pub fn peer_groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.groups.windows(2).map(|bounds| bounds[0]..bounds[1])
    }
}
