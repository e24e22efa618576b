//! mysql_async: both protocols, batches, types, several results, transactions, a pool that resets; plain, by TLS and compressed.

use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime};
use futures::TryStreamExt;
use mysql_async::prelude::*;
use mysql_async::{Conn, Error, IsolationLevel, Opts, OptsBuilder, Params, Pool, SslOpts, TxOpts, Value};

use crate::Place;

pub async fn run(place: &Place) -> Result<(), Box<dyn std::error::Error>> {
    for (tls, cached) in [(false, 32), (true, 0)] {
        let tls = tls.then(|| SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true));
        let options = OptsBuilder::default()
            .ip_or_hostname(place.host.as_str())
            .tcp_port(place.port)
            .user(Some(place.user.as_str()))
            .pass(Some(place.password.as_str()))
            .db_name(Some(place.database.as_str()))
            .ssl_opts(tls)
            .prefer_socket(false)
            .stmt_cache_size(cached)
            .client_found_rows(cached == 0);
        course(options.into()).await?;
    }
    Ok(())
}

fn refusal(what: &str, error: &Error) {
    match error {
        Error::Server(error) => println!("{what}: {} {}", error.code, error.state),
        _ => println!("{what}: another error"),
    }
}

async fn course(options: Opts) -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::new(options);
    let mut conn: Conn = pool.get_conn().await?;
    conn.query_drop("DROP TABLE IF EXISTS y").await?;
    conn.query_drop(
        "CREATE TABLE y (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, price DECIMAL(12,3), at DATETIME(6), day DATE, span TIME(3), \
         data BLOB, weight DOUBLE, light FLOAT, big BIGINT UNSIGNED, kind SET('a','b'), bits BIT(12)) DEFAULT CHARSET utf8mb4",
    )
    .await?;
    let rows: Vec<Params> = (0..6_u64)
        .map(|n| {
            params! {
                "name" => format!("žluť🐎{n}"), "price" => format!("{n}.125"), "day" => NaiveDate::from_ymd_opt(2024, 2, 29),
                "at" => "2024-02-29T23:59:58.123456".parse::<NaiveDateTime>().expect("a time"), "span" => Value::Time(true, 1, 2, 3, 4, 500_000),
                "data" => (n % 2 == 0).then(|| vec![0_u8, 39, 92, n as u8]), "weight" => n as f64 / 3.0, "light" => n as f32 / 4.0,
                "big" => u64::MAX - n, "kind" => "b,a", "bits" => vec![1_u8, n as u8],
            }
        })
        .collect();
    "INSERT INTO y (name, price, at, day, span, data, weight, light, big, kind, bits) \
     VALUES (:name, :price, :at, :day, :span, :data, :weight, :light, :big, :kind, :bits)"
        .with(rows)
        .batch(&mut conn)
        .await?;
    println!("inserted: {} {:?}", conn.affected_rows(), conn.last_insert_id());
    let text: Vec<mysql_async::Row> = conn.query("SELECT * FROM y WHERE id IN (1, 2) ORDER BY id").await?;
    let binary: Vec<mysql_async::Row> = conn.exec("SELECT * FROM y WHERE id IN (?, ?) ORDER BY id", (1, 2)).await?;
    for row in text.iter().chain(&binary) {
        println!("row: {:?}", row.clone().unwrap());
    }
    let columns = binary[0].columns();
    for column in columns.iter() {
        println!("column: {} {:?} {}", column.name_str(), column.column_type(), column.org_table_str());
    }
    let typed: Vec<(i32, BigDecimal, NaiveDateTime, Option<NaiveDate>)> = conn.exec("SELECT id, price, at, day FROM y WHERE price > ? ORDER BY id", (BigDecimal::from(3),)).await?;
    println!("typed: {typed:?}");
    let folded: u64 = conn.exec_fold("SELECT a.id FROM y a, y b WHERE a.id > ?", (0,), 0, |sum, id: u64| sum + id).await?;
    println!("folded: {folded}");
    // An error among the results leaves the connection to be thrown away.
    let mut own = pool.get_conn().await?;
    let mut several = own.query_iter("SELECT 1, 'a'; UPDATE y SET weight = 0 WHERE id < 3; SELECT 2; SELEC").await?;
    loop {
        println!("several: {} {}", several.affected_rows(), several.columns_ref().len());
        match several.collect::<mysql_async::Row>().await {
            Ok(rows) => println!("several: {:?}", rows.into_iter().map(mysql_async::Row::unwrap).collect::<Vec<_>>()),
            Err(error) => refusal("several", &error),
        }
        if several.is_empty() {
            break;
        }
    }
    drop(several);
    drop(own);
    conn.ping().await?;
    let mut stream = "SELECT id FROM y ORDER BY id".stream::<u32, _>(&mut conn).await?;
    let mut ids = Vec::new();
    while let Some(id) = stream.try_next().await? {
        ids.push(id);
    }
    drop(stream);
    println!("stream: {ids:?}");
    for statement in ["INSERT INTO y (name) VALUES ('žluť🐎1')", "SELECT nothing", "SELEC", "INSERT INTO y (name, kind) VALUES ('k', 'c')", "DO SLEEP('x')"] {
        match conn.query_drop(statement).await {
            Ok(()) => println!("{statement}: {}", conn.get_warnings()),
            Err(error) => refusal(statement, &error),
        }
    }
    let mut transaction = conn.start_transaction(TxOpts::default().with_isolation_level(IsolationLevel::Serializable).with_consistent_snapshot(false).to_owned()).await?;
    transaction.exec_drop("DELETE FROM y WHERE id > ?", (3,)).await?;
    println!("deleted: {}", transaction.affected_rows());
    transaction.rollback().await?;
    let mut read = conn.start_transaction(TxOpts::default().with_readonly(Some(true)).to_owned()).await?;
    if let Err(error) = read.query_drop("DELETE FROM y").await {
        refusal("read only", &error);
    }
    read.commit().await?;
    let left: Option<u32> = conn.query_first("SELECT COUNT(*) FROM y").await?;
    println!("left: {left:?}");
    conn.query_drop("UPDATE y SET weight = 0 WHERE id < 3").await?;
    println!("again: {} {}", conn.affected_rows(), conn.info());
    conn.query_drop("SET @mine = 1").await?;
    println!("reset: {}", conn.reset().await?);
    let mine: Option<Option<u32>> = conn.query_first("SELECT @mine").await?;
    println!("mine: {mine:?}");
    let statement = conn.prep("SELECT ?, REPEAT(?, 3), ? IS NULL").await?;
    for value in [Value::NULL, Value::from("x"), Value::Bytes(vec![b'y'; 70_000])] {
        let row: Option<mysql_async::Row> = conn.exec_first(&statement, (1, value.clone(), value)).await?;
        println!("prepared: {:?}", row.map(|row| row.unwrap().iter().map(|value| value.as_sql(true).len()).collect::<Vec<_>>()));
    }
    conn.close(statement).await?;
    drop(conn);
    let mut handles = Vec::new();
    for n in 0..16 {
        let pool = pool.clone();
        handles.push(tokio::spawn(async move {
            let mut conn = pool.get_conn().await?;
            conn.exec_first::<i64, _, _>("SELECT CAST(? AS SIGNED) * 2", (n,)).await
        }));
    }
    let mut answers = Vec::new();
    for handle in handles {
        answers.push(handle.await??);
    }
    println!("at once: {answers:?}");
    pool.disconnect().await?;
    Ok(())
}
