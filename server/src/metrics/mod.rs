//! The port of the metrics (`metrics_address`): what the server does and what it stores, for Prometheus and for people.
//!
//! ```text
//!   /              page.html, which asks for those below every second, five and ten seconds, and when a table is chosen
//!   /status.json   counters, page cleaners, replication, running statements, times by kind of statement
//!   /statements.json   the statements that have taken the most time, by their digests
//!   /tables.json   bytes and forms of pages of the largest tablespaces, and of all together
//!   /map.json      ?space=N: where the file has data and where holes
//!   /metrics       Prometheus
//! ```
//!
//! Counters are sums since the start; whoever asks twice knows the rates. Facts come from the engine and not from SQL, so
//! asking counts no statements and needs no account.

mod facts;
mod http;
mod prometheus;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use sql::Instance;
use tracing::info;

use facts::{FORMS, Facts, Stored};
use http::{Answer, Http, Request};

/// The listing of tablespaces asks the filesystem about each file: it is made at most so often.
const LISTING_AGE: Duration = Duration::from_secs(5);

/// The page shows so many tablespaces.
const LISTED_MAX: usize = 100;

/// And so many statements.
const COSTLY_MAX: usize = 10;

/// Cells of the map of a tablespace.
const MAP_CELLS: usize = 2048;

const PAGE: &str = include_str!("page.html");

/// The listening port. When it is dropped, nothing of the instance is used any more.
pub struct Metrics {
    http: Http,
}

impl Metrics {
    pub fn start(instance: Arc<Instance>, address: SocketAddr) -> io::Result<Metrics> {
        let source = Source { instance, listing: Mutex::new(None) };
        let http = Http::start(address, Arc::new(move |request: &Request<'_>| source.answer(request)))?;
        info!("metrics: http://{}/ and /metrics, for everybody who reaches this address", http.address);
        Ok(Metrics { http })
    }

    pub fn address(&self) -> SocketAddr {
        self.http.address
    }
}

struct Source {
    instance: Arc<Instance>,
    listing: Mutex<Option<(Instant, Arc<Vec<Stored>>)>>,
}

impl Source {
    fn answer(&self, request: &Request<'_>) -> Answer {
        match request.path {
            "/" => Answer::new("text/html; charset=utf-8", PAGE),
            "/metrics" => {
                let page = prometheus::page(&Facts::gather(&self.instance), &self.stored());
                Answer::new(prometheus::CONTENT_TYPE, page)
            }
            "/status.json" => json_of(&Facts::gather(&self.instance)),
            "/statements.json" => json_of(&facts::costly(&self.instance, COSTLY_MAX)),
            "/tables.json" => self.tables(),
            "/map.json" => self.map(request.query),
            _ => Answer::refusal("404 Not Found"),
        }
    }

    fn stored(&self) -> Arc<Vec<Stored>> {
        let mut listing = self.listing.lock();
        match &*listing {
            Some((made, stored)) if made.elapsed() < LISTING_AGE => stored.clone(),
            _ => {
                let stored = Arc::new(Stored::all(&self.instance));
                *listing = Some((Instant::now(), stored.clone()));
                stored
            }
        }
    }

    fn tables(&self) -> Answer {
        let stored = self.stored();
        let sum = |value: fn(&Stored) -> u64| stored.iter().map(value).sum::<u64>();
        let pages: Vec<u64> = (0..FORMS.len()).map(|at| stored.iter().map(|space| space.pages[at]).sum()).collect();
        json_of(&json!({
            "forms": FORMS,
            "count": stored.len(),
            "logical_bytes": sum(|space| space.logical_bytes),
            "allocated_bytes": sum(|space| space.allocated_bytes),
            "exact_bytes": sum(|space| space.exact_bytes),
            "pages": pages,
            "tables": stored.iter().take(LISTED_MAX).collect::<Vec<_>>(),
        }))
    }

    fn map(&self, query: &str) -> Answer {
        let number = query.split('&').find_map(|part| part.strip_prefix("space=")).and_then(|text| text.parse().ok());
        let stored = self.stored();
        let Some(space) = number.and_then(|number: u32| stored.iter().find(|space| space.space == number)) else {
            return Answer::refusal("404 Not Found");
        };
        match space.map(&self.instance, MAP_CELLS) {
            Ok(cells) => json_of(&json!({ "space": space.space, "file_bytes": space.file_bytes, "cells": cells })),
            // The table was dropped since it was listed.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Answer::refusal("404 Not Found"),
            Err(_) => Answer::refusal("500 Internal Server Error"),
        }
    }
}

fn json_of(value: &impl serde::Serialize) -> Answer {
    let body = serde_json::to_vec(value).expect("names and numbers");
    Answer::new("application/json", body)
}
