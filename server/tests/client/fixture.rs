//! A server in this process, on a directory of its own, which goes with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use binlog::BinaryLog;
use server::{Options, Server};
use sql::Instance;
use sql::accounts::Accounts;
use sql::variables::{GlobalVariables, engine_config};
use storage::Engine;
use storage::io::linux::LinuxDisk;

use super::{Client, Login};

pub struct Fixture {
    pub instance: Arc<Instance>,
    pub server: Option<Server>,
    pub directory: PathBuf,
}

impl Fixture {
    /// `addresses`: where it listens besides its Unix socket; `logging`: with these options, a binary log.
    pub fn start(addresses: &str, logging: Option<binlog::Options>) -> Fixture {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("glassine-server-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let globals = GlobalVariables::new();
        for (name, value) in [("innodb_buffer_pool_size", "8M"), ("innodb_log_file_size", "8M")] {
            globals.load_option(name, value).unwrap();
        }
        let config = engine_config(&globals);
        Engine::create(Arc::new(LinuxDisk::new(&directory)), &config).unwrap();
        let engine = Engine::open(Arc::new(LinuxDisk::new(&directory)), config).unwrap();
        let log = logging.map(|options| BinaryLog::open(engine.clone(), options).unwrap());
        if let Some(log) = &log {
            log.start_threads();
        }
        let instance = Instance::with_log(engine, log, globals, Accounts::in_memory(), directory.clone());
        let addresses = Options::parse_addresses(addresses).unwrap();
        let options = Options { addresses, port: 0, port_tries: 1, socket: Some(directory.join("s")) };
        let server = Server::start(instance.clone(), &options).unwrap();
        Fixture { instance, server: Some(server), directory }
    }

    pub fn client(&self) -> Client {
        Client::unix(&self.directory.join("s"), &Login::default()).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        if let Some(log) = &self.instance.log {
            let _ = log.close();
        }
        let _ = self.instance.engine.close();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
