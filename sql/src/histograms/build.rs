//! From values to buckets.
//!
//! As many different values as buckets, or fewer, have one bucket each. Otherwise each bucket has about the same number of
//! rows: values are put into it in order as long as it does not get larger than a limit, and the limit is the smallest one
//! for which the buckets suffice. So a value that has more rows than the limit stands alone.

use format::value::{ColumnType, DateTime};
use rustc_hash::FxHashMap;

use super::{Bucket, Histogram, Kind, compare_stored, significant};

/// Whether values of this type can be counted.
pub fn has_histogram_type(ty: &ColumnType) -> bool {
    !matches!(ty, ColumnType::Json | ColumnType::Geometry { .. })
}

/// What a value that is counted takes besides its bytes.
const VALUE_BYTES: u64 = 40;

/// A value, and how many rows have it.
type Counted = (Box<[u8]>, u64);

/// Counts the values of a column.
pub struct Counter {
    ty: ColumnType,
    values: FxHashMap<Box<[u8]>, u64>,
    nulls: u64,
    rows: u64,
}

impl Counter {
    pub fn new(ty: &ColumnType) -> Counter {
        Counter { ty: ty.clone(), values: FxHashMap::default(), nulls: 0, rows: 0 }
    }

    /// The memory that a value of this type may take.
    pub fn value_bytes(ty: &ColumnType) -> u64 {
        let layout = ty.layout(false);
        let bytes = match layout.length {
            format::record::Length::Fixed(bytes) => u64::from(bytes),
            format::record::Length::Variable { max, .. } => (max as u64).min(super::CHARS_MAX as u64 * 4),
        };
        VALUE_BYTES + bytes
    }

    /// Counts a value. Returns the bytes of memory that this takes.
    pub fn add(&mut self, value: Option<&[u8]>) -> u64 {
        self.rows += 1;
        let Some(value) = value else {
            self.nulls += 1;
            return 0;
        };
        let value = significant(&self.ty, value);
        match self.values.get_mut(value) {
            Some(count) => {
                *count += 1;
                0
            }
            None => {
                self.values.insert(value.into(), 1);
                VALUE_BYTES + value.len() as u64
            }
        }
    }

    /// The histogram of at most so many buckets.
    pub fn finish(self, asked: u64, sampling_rate: f64, updated: DateTime) -> Histogram {
        let ty = self.ty;
        let mut values: Vec<Counted> = self.values.into_iter().collect();
        // Of values that are equal the smallest bytes are shown, whatever order they were found in.
        values.sort_unstable_by(|(a, _), (b, _)| compare_stored(&ty, a, b).then_with(|| a.cmp(b)));
        values.dedup_by(|later, kept| {
            let is_same = compare_stored(&ty, &later.0, &kept.0).is_eq();
            if is_same {
                kept.1 += later.1;
            }
            is_same
        });
        let rows = self.rows.max(1) as f64;
        let (kind, groups) = match values.len() as u64 <= asked {
            true => (Kind::Singleton, values.iter().map(std::slice::from_ref).collect()),
            false => (Kind::EquiHeight, equi_height(&values, asked)),
        };
        let mut below = 0;
        let bucket = |group: &[Counted]| {
            below += group.iter().map(|(_, count)| count).sum::<u64>();
            Some(Bucket {
                lower: group.first()?.0.to_vec(),
                upper: group.last()?.0.to_vec(),
                cumulative: below as f64 / rows,
                distinct: distinct(group, sampling_rate),
            })
        };
        let buckets = groups.into_iter().filter_map(bucket).collect();
        let nulls = self.nulls as f64 / rows;
        Histogram { kind, buckets, nulls, sampling_rate, asked, updated }
    }
}

/// About how many different values a bucket has if so much of the rows was looked at: values that were found once stand
/// for others that were not found (Charikar, Chaudhuri, Motwani, Narasayya, "Towards Estimation Error Guarantees for
/// Distinct Values", 2000).
fn distinct(group: &[Counted], sampling_rate: f64) -> f64 {
    let once = group.iter().filter(|(_, count)| *count == 1).count() as f64;
    let others = group.len() as f64 - once;
    let most = group.iter().map(|(_, count)| count).sum::<u64>() as f64 / sampling_rate;
    (once / sampling_rate.sqrt() + others).round().clamp(1.0, most.max(1.0))
}

/// At most so many groups of neighbours with about as many rows each.
fn equi_height(values: &[Counted], asked: u64) -> Vec<&[Counted]> {
    let all: u64 = values.iter().map(|(_, count)| count).sum();
    let (mut low, mut high) = (all.div_ceil(asked.max(1)).max(1), all);
    while low < high {
        let middle = low + (high - low) / 2;
        match groups(values, middle).len() as u64 <= asked {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    groups(values, high)
}

fn groups(values: &[Counted], limit: u64) -> Vec<&[Counted]> {
    let mut found = Vec::new();
    let (mut first, mut rows) = (0, 0);
    for (at, (_, count)) in values.iter().enumerate() {
        if at > first && rows + count > limit {
            found.push(&values[first..at]);
            (first, rows) = (at, 0);
        }
        rows += count;
    }
    found.push(&values[first..]);
    found
}
