//! `bench tpcc`: new orders, payments and deliveries on one small warehouse, kill -9 in the middle, and the consistency
//! conditions 1 to 4 of the TPC-C specification (clause 3.3.2) after each recovery.
//!
//! Only what the conditions need is here: the tables have the columns that these three transactions use, and nothing is
//! measured. The statements are those of tpcc-mysql.
//!
//! 1. W_YTD is the sum of D_YTD of the warehouse's districts.
//! 2. D_NEXT_O_ID - 1 is the largest O_ID of the district, and the largest NO_O_ID if it has new orders.
//! 3. The new orders of a district have numbers without gaps.
//! 4. The sum of O_OL_CNT of a district is the number of its order lines.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rand::Rng;

use crate::client::{Client, Error};
use crate::process::{Kind, Options, Scratch, Server};

const DISTRICTS: u32 = 10;
const CUSTOMERS: u32 = 30;
const ITEMS: u32 = 200;

const SCHEMA: [&str; 9] = [
    "CREATE DATABASE tpcc",
    "CREATE TABLE tpcc.warehouse (w_id SMALLINT NOT NULL PRIMARY KEY, w_ytd DECIMAL(12,2) NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE tpcc.district (d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, \
     d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id)) ENGINE=InnoDB",
    "CREATE TABLE tpcc.customer (c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, \
     c_last VARCHAR(16) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, c_delivery_cnt SMALLINT NOT NULL, c_data TEXT, \
     PRIMARY KEY (c_w_id, c_d_id, c_id), KEY idx_customer (c_w_id, c_d_id, c_last)) ENGINE=InnoDB",
    "CREATE TABLE tpcc.history (h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, \
     h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24)) ENGINE=InnoDB",
    "CREATE TABLE tpcc.orders (o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, \
     o_entry_d DATETIME, o_carrier_id TINYINT, o_ol_cnt TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id), \
     KEY idx_orders (o_w_id, o_d_id, o_c_id, o_id)) ENGINE=InnoDB",
    "CREATE TABLE tpcc.new_orders (no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, \
     PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB",
    "CREATE TABLE tpcc.order_line (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, \
     ol_number TINYINT NOT NULL, ol_i_id INT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), \
     ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) ENGINE=InnoDB",
    "CREATE TABLE tpcc.stock (s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT NOT NULL, \
     s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)) ENGINE=InnoDB",
];

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 8)]
    pub connections: usize,
    #[arg(long, default_value_t = 10)]
    pub kills: u32,
    /// The longest that the server is left alone.
    #[arg(long, default_value_t = 3000)]
    pub life_ms: u64,
}

/// What was done, and how much of it was acknowledged.
#[derive(Debug, Default)]
pub struct Counts {
    pub new_orders: AtomicU64,
    pub payments: AtomicU64,
    pub deliveries: AtomicU64,
}

/// The command.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let counts = play(arguments)?;
    println!(
        "{} kills; {} new orders, {} payments, {} deliveries acknowledged: conditions 1 to 4 hold",
        arguments.kills,
        counts.new_orders.into_inner(),
        counts.payments.into_inner(),
        counts.deliveries.into_inner()
    );
    Ok(())
}

pub fn play(arguments: &Arguments) -> io::Result<Counts> {
    let scratch = Scratch::new("tpcc")?;
    let directory = scratch.0.join("glassine");
    let options = Options { pool: "16M".into(), log: "16M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    load(&server).map_err(io::Error::other)?;
    let counts = Counts::default();
    let stop = AtomicBool::new(false);
    for kill in 1..=arguments.kills {
        let mut connections = Vec::new();
        for _ in 0..arguments.connections {
            connections.push(server.connect().map_err(io::Error::other)?);
        }
        stop.store(false, Ordering::SeqCst);
        let life = Duration::from_millis(rand::rng().random_range(arguments.life_ms / 5..=arguments.life_ms));
        let failed: Vec<String> = thread::scope(|scope| {
            let (counts, stop) = (&counts, &stop);
            let threads: Vec<_> = connections
                .into_iter()
                .map(|mut client| scope.spawn(move || work(&mut client, counts, stop)))
                .collect();
            thread::sleep(life);
            server.kill();
            stop.store(true, Ordering::SeqCst);
            let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(Err("a terminal panicked".into())));
            ended.filter_map(Result::err).collect()
        });
        server = Server::start(Kind::Glassine, &directory, &options)?;
        let audit = match failed.into_iter().next() {
            Some(wrong) => Err(wrong),
            None => audit(&server, &counts),
        };
        audit
            .map_err(|wrong| io::Error::other(format!("kill {kill}: {wrong}\nserver log:\n{}", server.log_tail(30))))?;
    }
    server.stop()?;
    Ok(counts)
}

fn load(server: &Server) -> Result<(), Error> {
    let mut client = server.connect()?;
    for statement in SCHEMA {
        client.query(statement)?;
    }
    client.query("BEGIN")?;
    client.query("INSERT INTO tpcc.warehouse VALUES (1, 300000.00)")?;
    for district in 1..=DISTRICTS {
        client.query(&format!("INSERT INTO tpcc.district VALUES ({district}, 1, 30000.00, 1)"))?;
        let rows: Vec<String> = (1..=CUSTOMERS)
            .map(|id| format!("({id}, {district}, 1, 'LAST{}', -10.00, 0, REPEAT('customer {id} ', 30))", id % 7))
            .collect();
        client.query(&format!("INSERT INTO tpcc.customer VALUES {}", rows.join(", ")))?;
    }
    let rows: Vec<String> = (1..=ITEMS).map(|item| format!("({item}, 1, 50, 'stock of item {item}')")).collect();
    client.query(&format!("INSERT INTO tpcc.stock VALUES {}", rows.join(", ")))?;
    client.query("COMMIT")?;
    Ok(())
}

fn work(client: &mut Client, counts: &Counts, stop: &AtomicBool) -> Result<(), String> {
    while !stop.load(Ordering::SeqCst) {
        let (done, counter) = match rand::rng().random_range(0..100) {
            0..48 => (new_order(client), &counts.new_orders),
            48..92 => (payment(client), &counts.payments),
            _ => (delivery(client), &counts.deliveries),
        };
        match done {
            Ok(true) => drop(counter.fetch_add(1, Ordering::SeqCst)),
            Ok(false) => {}
            Err(Error::Server { code: 1205 | 1213, .. }) => {
                if client.query("ROLLBACK").is_err() {
                    return Ok(());
                }
            }
            // The server died, as the test wants.
            Err(Error::Io(_) | Error::Server { code: 1053, .. }) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// False = rolled back, as one in a hundred has to be.
fn new_order(client: &mut Client) -> Result<bool, Error> {
    let mut random = rand::rng();
    let district = random.random_range(1..=DISTRICTS);
    let customer = random.random_range(1..=CUSTOMERS);
    let lines = random.random_range(5..=15);
    client.query("BEGIN")?;
    let next = format!("SELECT d_next_o_id FROM tpcc.district WHERE d_id = {district} AND d_w_id = 1 FOR UPDATE");
    let order = client.query(&next)?.number();
    client
        .query(&format!("UPDATE tpcc.district SET d_next_o_id = {order} + 1 WHERE d_id = {district} AND d_w_id = 1"))?;
    client.query(&format!(
        "INSERT INTO tpcc.orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt) \
         VALUES ({order}, {district}, 1, {customer}, NOW(), {lines})"
    ))?;
    client
        .query(&format!("INSERT INTO tpcc.new_orders (no_o_id, no_d_id, no_w_id) VALUES ({order}, {district}, 1)"))?;
    for line in 1..=lines {
        let item = random.random_range(1..=ITEMS);
        let quantity = random.random_range(1..=10);
        let stock = format!("FROM tpcc.stock WHERE s_i_id = {item} AND s_w_id = 1");
        let left = client.query(&format!("SELECT s_quantity {stock} FOR UPDATE"))?.number() - quantity;
        let left = if left < 10 { left + 91 } else { left };
        client.query(&format!("UPDATE tpcc.stock SET s_quantity = {left} WHERE s_i_id = {item} AND s_w_id = 1"))?;
        client.query(&format!(
            "INSERT INTO tpcc.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_quantity, ol_amount, \
             ol_dist_info) VALUES ({order}, {district}, 1, {line}, {item}, {quantity}, {quantity} * 1.25, 'dist {item}')"
        ))?;
    }
    let unused_item = random.random_ratio(1, 100);
    client.query(if unused_item { "ROLLBACK" } else { "COMMIT" })?;
    Ok(!unused_item)
}

fn payment(client: &mut Client) -> Result<bool, Error> {
    let mut random = rand::rng();
    let district = random.random_range(1..=DISTRICTS);
    let amount = format!("{}.{:02}", random.random_range(1..5000), random.random_range(0..100));
    client.query("BEGIN")?;
    client.query(&format!("UPDATE tpcc.warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = 1"))?;
    client
        .query(&format!("UPDATE tpcc.district SET d_ytd = d_ytd + {amount} WHERE d_w_id = 1 AND d_id = {district}"))?;
    // By name or by number.
    let customer = if random.random_bool(0.6) {
        let name = random.random_range(0..7);
        let rows = client.query(&format!(
            "SELECT c_id FROM tpcc.customer WHERE c_w_id = 1 AND c_d_id = {district} AND c_last = 'LAST{name}' ORDER BY c_id"
        ))?;
        let middle = rows.rows.get(rows.rows.len() / 2).and_then(|row| row[0].clone());
        middle.and_then(|id| id.parse().ok()).unwrap_or(1)
    } else {
        random.random_range(1..=CUSTOMERS)
    };
    let of = format!("c_w_id = 1 AND c_d_id = {district} AND c_id = {customer}");
    client.query(&format!("SELECT c_balance FROM tpcc.customer WHERE {of} FOR UPDATE"))?;
    client.query(&format!("UPDATE tpcc.customer SET c_balance = c_balance - {amount} WHERE {of}"))?;
    client.query(&format!(
        "INSERT INTO tpcc.history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES ({district}, 1, {customer}, {district}, 1, NOW(), {amount}, 'payment')"
    ))?;
    client.query("COMMIT")?;
    Ok(true)
}

/// The oldest new order of each district is delivered.
fn delivery(client: &mut Client) -> Result<bool, Error> {
    let carrier = rand::rng().random_range(1..=10);
    client.query("BEGIN")?;
    for district in 1..=DISTRICTS {
        let new = format!("FROM tpcc.new_orders WHERE no_d_id = {district} AND no_w_id = 1");
        // Locked, so that two deliveries do not take the same one.
        let oldest = client.query(&format!("SELECT no_o_id {new} ORDER BY no_o_id LIMIT 1 FOR UPDATE"))?;
        let order = oldest.number();
        if order == 0 {
            continue;
        }
        client.query(&format!("DELETE {new} AND no_o_id = {order}"))?;
        let of = format!("o_id = {order} AND o_d_id = {district} AND o_w_id = 1");
        let customer = client.query(&format!("SELECT o_c_id FROM tpcc.orders WHERE {of} FOR UPDATE"))?.number();
        client.query(&format!("UPDATE tpcc.orders SET o_carrier_id = {carrier} WHERE {of}"))?;
        let of = format!("ol_o_id = {order} AND ol_d_id = {district} AND ol_w_id = 1");
        client.query(&format!("UPDATE tpcc.order_line SET ol_delivery_d = NOW() WHERE {of}"))?;
        let sum = client.query(&format!("SELECT SUM(ol_amount) FROM tpcc.order_line WHERE {of} FOR UPDATE"))?;
        client.query(&format!(
            "UPDATE tpcc.customer SET c_balance = c_balance + {}, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_id = {customer} AND c_d_id = {district} AND c_w_id = 1",
            sum.cell().unwrap_or("0")
        ))?;
    }
    client.query("COMMIT")?;
    Ok(true)
}

/// The four conditions, and that nothing acknowledged is gone.
fn audit(server: &Server, counts: &Counts) -> Result<(), String> {
    let mut client = server.connect().map_err(|error| error.to_string())?;
    let mut ask = |statement: &str| client.query(statement).map_err(|error| format!("{statement}: {error}"));
    let ytd = ask("SELECT w_ytd FROM tpcc.warehouse")?.cell().unwrap_or("nothing").to_owned();
    let sum = ask("SELECT SUM(d_ytd) FROM tpcc.district")?.cell().unwrap_or("nothing").to_owned();
    if ytd != sum {
        return Err(format!("condition 1: W_YTD is {ytd}, the districts have {sum}"));
    }
    for district in 1..=DISTRICTS {
        let next = ask(&format!("SELECT d_next_o_id FROM tpcc.district WHERE d_id = {district}"))?.number();
        let last = ask(&format!("SELECT MAX(o_id) FROM tpcc.orders WHERE o_d_id = {district}"))?.number();
        let new = ask(&format!(
            "SELECT COUNT(*), MIN(no_o_id), MAX(no_o_id) FROM tpcc.new_orders WHERE no_d_id = {district}"
        ))?;
        let cell = |at: usize| new.rows[0][at].as_deref().and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        let (count, first_new, last_new) = (cell(0), cell(1), cell(2));
        if next - 1 != last || count > 0 && last_new != last {
            return Err(format!(
                "condition 2: district {district}: next order {next}, last order {last}, last new order {last_new}"
            ));
        }
        if count > 0 && last_new - first_new + 1 != count {
            return Err(format!("condition 3: district {district}: {count} new orders from {first_new} to {last_new}"));
        }
        let lines = ask(&format!("SELECT COUNT(*) FROM tpcc.order_line WHERE ol_d_id = {district}"))?.number();
        let ought = ask(&format!("SELECT SUM(o_ol_cnt) FROM tpcc.orders WHERE o_d_id = {district}"))?.number();
        if lines != ought {
            return Err(format!("condition 4: district {district}: {lines} order lines, the orders say {ought}"));
        }
    }
    for (table, promised) in [("orders", &counts.new_orders), ("history", &counts.payments)] {
        let found = ask(&format!("SELECT COUNT(*) FROM tpcc.{table}"))?.number() as u64;
        let promised = promised.load(Ordering::SeqCst);
        if found < promised {
            return Err(format!("{promised} rows of {table} were acknowledged, {found} are there"));
        }
    }
    Ok(())
}
