//! sqlx: prepared and plain statements, types both ways, a pool, transactions, a stream, migrations; plain and by TLS.

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use futures::TryStreamExt;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions, MySqlSslMode};
use sqlx::types::Json;
use sqlx::{Column, Connection, Executor, FromRow, Row, TypeInfo};

use crate::Place;

#[derive(Debug, FromRow)]
#[allow(dead_code, reason = "they are printed")]
struct Kept {
    id: u64,
    name: String,
    price: Option<BigDecimal>,
    at: Option<NaiveDateTime>,
    stamp: Option<DateTime<Utc>>,
    day: Option<NaiveDate>,
    span: Option<NaiveTime>,
    data: Option<Vec<u8>>,
    weight: Option<f64>,
    light: Option<f32>,
    truth: Option<bool>,
    small: Option<i8>,
    big: Option<i64>,
    kind: Option<String>,
    bits: Option<u64>,
    year: Option<u16>,
}

pub async fn run(place: &Place) -> Result<(), Box<dyn std::error::Error>> {
    for mode in [MySqlSslMode::Disabled, MySqlSslMode::Required] {
        let options = MySqlConnectOptions::new()
            .host(&place.host)
            .port(place.port)
            .username(&place.user)
            .password(&place.password)
            .database(&place.database)
            .ssl_mode(mode);
        let pool = MySqlPoolOptions::new().max_connections(4).connect_with(options).await?;
        course(&pool).await?;
        migrations(&pool).await?;
        pool.close().await;
    }
    Ok(())
}

fn refusal(what: &str, error: sqlx::Error) {
    match error.as_database_error() {
        Some(error) => {
            let number = error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>().number();
            println!("{what}: {number} {:?} {:?}", error.code(), error.kind());
        }
        None => println!("{what}: another error"),
    }
}

async fn course(pool: &MySqlPool) -> Result<(), Box<dyn std::error::Error>> {
    pool.execute("DROP TABLE IF EXISTS x").await?;
    sqlx::raw_sql(
        "CREATE TABLE x (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, price DECIMAL(12,3), at DATETIME(6), \
         stamp TIMESTAMP(3) NULL, day DATE, span TIME(6), data BLOB, weight DOUBLE, light FLOAT, truth BOOLEAN, small TINYINT, big BIGINT, \
         kind ENUM('a','b'), bits BIT(12), year YEAR) DEFAULT CHARSET utf8mb4",
    )
    .execute(pool)
    .await?;
    for n in 0..6_i64 {
        let done = sqlx::query(
            "INSERT INTO x (name, price, at, stamp, day, span, data, weight, light, truth, small, big, kind, bits, year) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(format!("žluť🐎{n}"))
        .bind(format!("-12345.{n}25").parse::<BigDecimal>()?)
        .bind("2024-02-29T23:59:58.123456".parse::<NaiveDateTime>()?)
        .bind("2024-07-01T12:00:00.5Z".parse::<DateTime<Utc>>()?)
        .bind(NaiveDate::from_ymd_opt(1999, 12, 31))
        .bind(NaiveTime::from_hms_micro_opt(23, 1, 2, 500_000))
        .bind((n % 2 == 0).then(|| vec![0_u8, 39, 92, 255]))
        .bind(n as f64 / 3.0)
        .bind(n as f32 / 4.0)
        .bind(n % 2 == 1)
        .bind(-(n as i8))
        .bind(i64::MIN + n)
        .bind(if n % 2 == 0 { "a" } else { "b" })
        .bind(n as u64 + 5)
        .bind(2000 + n as u16)
        .execute(pool)
        .await?;
        println!("inserted: {} {}", done.rows_affected(), done.last_insert_id());
    }
    for kept in sqlx::query_as::<_, Kept>("SELECT * FROM x WHERE id > ? ORDER BY id").bind(4).fetch_all(pool).await? {
        println!("row: {kept:?}");
    }
    let described = pool.describe("SELECT id, name, price, at, data, truth, COUNT(*) OVER () AS n, ? + 1 AS p FROM x").await?;
    for (n, column) in described.columns().iter().enumerate().take(7) {
        println!("column: {} {} {:?}", column.name(), column.type_info().name(), described.nullable(n));
    }
    let (count, sum, joined): (i64, Option<BigDecimal>, Option<String>) =
        sqlx::query_as("SELECT COUNT(*), SUM(price), GROUP_CONCAT(name ORDER BY id) FROM x").fetch_one(pool).await?;
    println!("aggregates: {count} {sum:?} {joined:?}");
    let mut stream = sqlx::query("SELECT a.id, b.name FROM x a, x b ORDER BY a.id, b.id").fetch(pool);
    let mut rows = 0;
    while let Some(row) = stream.try_next().await? {
        rows += usize::from(row.try_get::<u64, _>(0)? > 0);
    }
    drop(stream);
    println!("stream: {rows}");
    for statement in [
        "INSERT INTO x (name) VALUES ('žluť🐎1')",
        "SELECT nothing",
        "SELEC",
        "INSERT INTO x (name) VALUES (NULL)",
        "INSERT INTO x (name, kind) VALUES ('k', 'c')",
        "SELECT * FROM missing",
    ] {
        match sqlx::query(statement).execute(pool).await {
            Ok(_) => println!("{statement}: done"),
            Err(error) => refusal(statement, error),
        }
    }
    let mut transaction = pool.begin().await?;
    sqlx::query("DELETE FROM x WHERE id > 3").execute(&mut *transaction).await?;
    let mut inner = transaction.begin().await?;
    sqlx::query("DELETE FROM x").execute(&mut *inner).await?;
    inner.rollback().await?;
    let left: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM x").fetch_one(&mut *transaction).await?;
    transaction.rollback().await?;
    let all: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM x").fetch_one(pool).await?;
    println!("transactions: {left} {all}");
    sqlx::query("UPDATE x SET name = JSON_ARRAY(?, NULL) WHERE id = 1").bind("a\"b").execute(pool).await?;
    let text: String = sqlx::query_scalar("SELECT name FROM x WHERE id = 1 AND JSON_CONTAINS(IF(id = 1, name, NULL), ?)").bind(Json("a\"b")).fetch_one(pool).await?;
    println!("json: {text}");
    let mut handles = Vec::new();
    for n in 0..16_i64 {
        let pool = pool.clone();
        handles.push(tokio::spawn(async move {
            sqlx::query_scalar::<_, i64>("SELECT CAST(? AS SIGNED) * 2").bind(n).fetch_one(&pool).await
        }));
    }
    let mut answers = Vec::new();
    for handle in handles {
        answers.push(handle.await??);
    }
    println!("at once: {answers:?}");
    let mut several = sqlx::raw_sql("SELECT 1; UPDATE x SET small = 1 WHERE id < 3; SELECT 'two', 3").fetch_many(pool);
    while let Some(either) = several.try_next().await? {
        println!("several: {:?}", either.left().map(|done| done.rows_affected()));
    }
    let mut one = pool.acquire().await?;
    one.ping().await?;
    Ok(())
}

async fn migrations(pool: &MySqlPool) -> Result<(), Box<dyn std::error::Error>> {
    let migration = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into(), false)
    };
    let migrator = Migrator {
        migrations: vec![
            migration(1, "first", "CREATE TABLE made (id INT PRIMARY KEY); INSERT INTO made VALUES (1), (2)"),
            migration(2, "second", "ALTER TABLE made ADD COLUMN name VARCHAR(10) DEFAULT 'x', ADD INDEX by_name (name)"),
        ]
        .into(),
        ..Migrator::DEFAULT
    };
    migrator.run(pool).await?;
    migrator.run(pool).await?;
    let done: Vec<(i64, String, bool)> = sqlx::query_as("SELECT version, description, success FROM _sqlx_migrations ORDER BY version").fetch_all(pool).await?;
    println!("migrations: {done:?}");
    pool.execute("DROP TABLE made, _sqlx_migrations").await?;
    Ok(())
}
