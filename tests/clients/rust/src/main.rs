//! Programs of Rust's drivers: `clients sqlx` and `clients mysql_async`. Each prints what it finds.

mod mysql_async_driver;
mod sqlx_driver;

use std::env;

/// Where the server is.
pub struct Place {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    pub database: String,
}

fn place() -> Place {
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    Place {
        host: variable("CLIENT_HOST"),
        port: variable("CLIENT_PORT").parse().expect("a port"),
        user: variable("CLIENT_USER"),
        password: variable("CLIENT_PASSWORD"),
        database: variable("CLIENT_DATABASE"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match env::args().nth(1).as_deref() {
        Some("sqlx") => sqlx_driver::run(&place()).await,
        Some("mysql_async") => mysql_async_driver::run(&place()).await,
        _ => Err("which driver: sqlx or mysql_async?".into()),
    }
}
