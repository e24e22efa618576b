//! kill -9 under load: nothing that was acknowledged may be lost.
//!
//! Three kills here, so that every run of the tests has some; `bench crash` does
//! as many as one likes, with sysbench beside the ledger.

use std::thread;
use std::time::Duration;

use bench::ledger::Ledger;
use bench::process::{Kind, Options, Scratch, Server};

#[test]
fn a_killed_server_loses_nothing_that_it_acknowledged() {
    let scratch = Scratch::new("crash-test").expect("a directory");
    let directory = scratch.0.join("glassine");
    // A log this small makes checkpoints and page writes part of every round.
    let options = Options { pool: "16M".into(), log: "16M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
    let ledger = Ledger::create(&server, 4).expect("the ledger's tables");
    for kill in 1..=3 {
        let writers = ledger.write(&server).expect("writers");
        thread::sleep(Duration::from_millis(700 * kill));
        server.kill();
        writers.join(false).expect("writers that saw only a dead server");
        server = Server::start(Kind::Glassine, &directory, &options).expect("recovery");
        let audit = ledger.audit(&server).unwrap_or_else(|lost| panic!("kill {kill}: {lost}\n{}", server.log_tail(30)));
        assert!(audit.found > 0, "the writers wrote nothing");
    }
    server.stop().expect("a clean shutdown");
}
