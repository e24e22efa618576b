//! The scheduler: one thread runs at a time, in an order drawn from the seed.
//!
//! ```text
//!   stage                         worker
//!   draw a worker, Go::Run  --->  works until it ...
//!                           <---    passes (between two operations, or inside of one where no latch is held)
//!                           <---    yields (between two operations, or inside of one where no latch is held)
//!                           <---    is done
//! ```
//!
//! A waiting worker is asked again whenever another one has done something since; when none can continue, the stage
//! reports it: either a deadlock was not found or a wake-up was lost.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use storage::Scheduler;

/// No turn takes so long, on however slow a machine: a thread that does waits for a latch that is never released.
const PATIENCE: Duration = Duration::from_secs(100);

#[derive(Debug)]
enum Go {
    Run,
    /// The wait for a lock has timed out.
    TimeOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Passes,
    Waits,
    /// It was asked, and cannot continue.
    StillWaits,
    Done,
}

/// The worker's side.
#[derive(Debug)]
pub struct Turn {
    slot: usize,
    back: Sender<(usize, Event)>,
    go: Mutex<Receiver<Go>>,
}

impl Turn {
    /// The first turn of a worker.
    pub fn begin(&self) {
        self.take();
    }

    /// The last one ends.
    pub fn end(&self) {
        self.give_back(Event::Done);
    }

    fn give_back(&self, event: Event) {
        // A stage that is gone has given up all of them.
        let _ = self.back.send((self.slot, event));
    }

    fn take(&self) -> Go {
        self.go.lock().unwrap_or_else(PoisonError::into_inner).recv().unwrap_or(Go::TimeOut)
    }
}

impl Scheduler for Turn {
    fn wait(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let mut event = Event::Waits;
        loop {
            self.give_back(event);
            match self.take() {
                Go::Run if ready() => return true,
                Go::Run => event = Event::StillWaits,
                Go::TimeOut => return false,
            }
        }
    }

    fn pass(&self) {
        self.give_back(Event::Passes);
        self.take();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Nothing has happened since it was last asked if `asked` equals the stage's count of events.
    Waits {
        asked: u64,
    },
    Done,
}

/// The stage's side.
pub struct Stage {
    go: Vec<Sender<Go>>,
    back: Receiver<(usize, Event)>,
    states: Vec<State>,
    /// Turns in which something happened.
    happened: u64,
    /// Of these, turns of workers.
    moved: u64,
}

/// The result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// A worker has done something, or was asked.
    Went,
    /// All remaining workers wait.
    Stuck,
    AllDone,
}

impl Stage {
    pub fn new(workers: usize) -> (Stage, Vec<Arc<Turn>>) {
        let (back_sender, back) = mpsc::channel();
        let (mut go, mut turns) = (Vec::new(), Vec::new());
        for slot in 0..workers {
            let (sender, receiver) = mpsc::channel();
            go.push(sender);
            turns.push(Arc::new(Turn { slot, back: back_sender.clone(), go: Mutex::new(receiver) }));
        }
        (Stage { go, back, states: vec![State::Ready; workers], happened: 0, moved: 0 }, turns)
    }

    /// Lets one worker run, chosen by `draw`.
    pub fn round(&mut self, draw: u64) -> Result<Round, String> {
        let may_run = |state: &State| match state {
            State::Ready => true,
            State::Waits { asked } => *asked != self.happened,
            State::Done => false,
        };
        let slots: Vec<usize> = (0..self.states.len()).filter(|slot| may_run(&self.states[*slot])).collect();
        if slots.is_empty() {
            let done = self.states.iter().all(|state| *state == State::Done);
            return Ok(if done { Round::AllDone } else { Round::Stuck });
        }
        let slot = slots[(draw % slots.len() as u64) as usize];
        self.send(slot, Go::Run)?;
        Ok(Round::Went)
    }

    /// Something has happened outside of the workers: all waiting workers are asked again.
    pub fn stir(&mut self) {
        self.happened += 1;
    }

    /// How often a worker has continued.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// The workers that wait.
    pub fn waiting(&self) -> Vec<usize> {
        let waits = |slot: &usize| matches!(self.states[*slot], State::Waits { .. });
        (0..self.states.len()).filter(waits).collect()
    }

    /// The wait of this worker times out.
    pub fn time_out(&mut self, slot: usize) -> Result<(), String> {
        self.send(slot, Go::TimeOut)
    }

    fn send(&mut self, slot: usize, go: Go) -> Result<(), String> {
        let _ = self.go[slot].send(go); // A worker that died has reported it.
        let (slot, event) = match self.back.recv_timeout(PATIENCE) {
            Ok(back) => back,
            Err(RecvTimeoutError::Timeout) => return Err(format!("worker {slot} hangs")),
            Err(RecvTimeoutError::Disconnected) => return Err("the workers are gone".into()),
        };
        if event != Event::StillWaits {
            self.happened += 1;
            self.moved += 1;
        }
        self.states[slot] = match event {
            Event::Passes => State::Ready,
            // A worker that begins to wait is asked at least once.
            Event::Waits => State::Waits { asked: self.happened - 1 },
            Event::StillWaits => State::Waits { asked: self.happened },
            Event::Done => State::Done,
        };
        Ok(())
    }
}
