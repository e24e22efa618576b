//! What a statement's expressions hold in memory: values that wait in one function's hands while its other arguments
//! are computed, and what aggregates collect.
//!
//! No single text is longer than `max_allowed_packet`: functions that make texts longer ask before they allocate
//! ([`Call::fits`](super::functions::Call::fits)). Many of them at a time may still be too much: `CONCAT(REPEAT(..),
//! CONCAT(REPEAT(..), ..))` holds one per level. So a [`Charge`] stands for each large one as long as it is held, and
//! the sum has a limit, 3170 beyond it (kept by `sql/tests/memory.rs`).

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Datum;
use crate::error::{Error, Result};

/// The most that the expressions of one statement may hold.
const HELD_BYTES_MAX: u64 = 1 << 30;

/// Smaller values are not worth counting: there are at most as many as the statement has expressions.
const SMALL_BYTES: usize = 4096;

/// The account of one session, which runs one statement at a time.
#[derive(Debug, Default, Clone)]
pub struct Memory(Arc<AtomicU64>);

/// Bytes that are held. They are given back when it is dropped.
#[derive(Debug, Default)]
pub struct Charge(Option<(Memory, u64)>);

impl Memory {
    /// Accounts for a value that is held while others are computed. What is borrowed costs nothing.
    #[inline]
    pub fn hold(&self, value: &Datum<'_>) -> Result<Charge> {
        match value {
            Datum::Bytes(Cow::Owned(text)) | Datum::Json(Cow::Owned(text)) if text.len() >= SMALL_BYTES => {
                self.charge(text.len())
            }
            _ => Ok(Charge(None)),
        }
    }

    #[cold]
    fn charge(&self, bytes: usize) -> Result<Charge> {
        let mut charge = Charge::default();
        charge.add(self, bytes)?;
        Ok(charge)
    }
}

impl Charge {
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Holds more.
    pub fn add(&mut self, memory: &Memory, bytes: usize) -> Result<()> {
        let (memory, held) = self.0.get_or_insert_with(|| (memory.clone(), 0));
        *held += bytes as u64;
        let all = memory.0.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        match all > HELD_BYTES_MAX {
            true => Err(Error::memory_exceeded("expressions", HELD_BYTES_MAX)),
            false => Ok(()),
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((memory, bytes)) = &self.0 {
            memory.0.fetch_sub(*bytes, Ordering::Relaxed);
        }
    }
}
