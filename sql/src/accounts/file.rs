//! The file `accounts`: all accounts of a server, a line for each fact, with tabs between the fields.
//!
//! ```text
//! glassine-accounts  2
//! unlogged   statement                           see the module above
//! account    user  host  plugin  verifier  flags
//! attribute  user  host  key  value
//! global     user  host  privileges
//! dynamic    user  host  privileges
//! grantable  user  host  privileges              those dynamic ones that may be passed on
//! database   user  host  database  privileges
//! table      user  host  database  table  privileges
//! column     user  host  database  table  column  privileges
//! routine    user  host  database  name  kind  privileges
//! revoked    user  host  database  privileges    partial revokes
//! role       user  host  role  its host  flags
//! default    user  host  role  its host
//! ```
//!
//! Fields are percent-encoded where they hold a tab, a line end or a percent sign. A verifier is what is left of a
//! password (`mysql.user.authentication_string`); `-` is the empty password. Flags are `locked`, `role`, `admin`, with
//! commas between, or `-`. The first version had no head, only lines `user host plugin verifier flags`, and no grants:
//! its accounts could do everything, and still can when the file is read.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::grants::{Grants, RoutineKind};
use super::privileges::{Dynamic, Privileges};
use super::{Account, AccountMap, Key, Plugin};

const HEAD: &str = "glassine-accounts\t2";

/// What the file says: the accounts, and the statement that is not in the binary log.
pub type Contents = (AccountMap, Option<String>);

pub fn read(path: &Path) -> io::Result<Contents> {
    let text = fs::read_to_string(path)?;
    parse(&text).map_err(|line| {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} of {} is not understood", path.display()))
    })
}

pub fn write(path: &Path, accounts: &AccountMap, unlogged: Option<&str>) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = private_file(&beside)?;
    file.write_all(text(accounts, unlogged).as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(directory)?.sync_all()
}

/// A new file that only its owner can read: it tells about passwords.
fn private_file(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn text(accounts: &AccountMap, unlogged: Option<&str>) -> String {
    let mut text = format!("{HEAD}\n");
    let mut line = |fields: &[&str]| {
        let fields: Vec<String> = fields.iter().map(|field| encode(field)).collect();
        text.push_str(&fields.join("\t"));
        text.push('\n');
    };
    if let Some(statement) = unlogged {
        line(&["unlogged", statement]);
    }
    for account in accounts.values() {
        let (user, host) = (account.user.as_str(), account.host.as_str());
        let verifier = if account.verifier.is_empty() { "-" } else { &account.verifier };
        let flags = flags(&[("locked", account.locked), ("role", account.is_role)]);
        line(&["account", user, host, account.plugin.name(), verifier, &flags]);
        for (key, value) in account.attributes.pairs() {
            line(&["attribute", user, host, key, &value]);
        }
        let own = &account.grants;
        for (kind, names) in [
            ("global", list(own.global)),
            ("dynamic", own.dynamic.names()),
            ("grantable", own.dynamic_grantable.names()),
        ] {
            if !names.is_empty() {
                line(&[kind, user, host, &names]);
            }
        }
        for (database, own) in &own.databases {
            line(&["database", user, host, database, &list(*own)]);
        }
        for ((database, table), own) in &own.tables {
            if !own.table.is_empty() {
                line(&["table", user, host, database, table, &list(own.table)]);
            }
            for (column, own) in &own.columns {
                line(&["column", user, host, database, table, column, &list(*own)]);
            }
        }
        for (((database, name), kind), own) in &own.routines {
            line(&["routine", user, host, database, name, kind.name(), &list(*own)]);
        }
        for (database, own) in &own.restrictions {
            line(&["revoked", user, host, database, &list(*own)]);
        }
        for ((role, role_host), admin) in &account.roles {
            line(&["role", user, host, role, role_host, &self::flags(&[("admin", *admin)])]);
        }
        for (role, role_host) in &account.default_roles {
            line(&["default", user, host, role, role_host]);
        }
    }
    text
}

fn flags(all: &[(&str, bool)]) -> String {
    let set: Vec<&str> = all.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
    if set.is_empty() { "-".to_owned() } else { set.join(",") }
}

fn list(own: Privileges) -> String {
    own.iter().map(|(_, name)| name).collect::<Vec<_>>().join(",")
}

/// The accounts of a text; the error is the number of the line that is not understood.
fn parse(text: &str) -> Result<Contents, usize> {
    let mut contents = Contents::default();
    let is_first_version = text.lines().next().is_none_or(|line| line != HEAD);
    let lines = text.lines().enumerate().skip(usize::from(!is_first_version));
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Option<Vec<String>> = line.split('\t').map(decode).collect();
        let fields = fields.ok_or(index + 1)?;
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let taken = match is_first_version {
            true => take_first_version(&mut contents, &fields),
            false => take(&mut contents, &fields),
        };
        taken.ok_or(index + 1)?;
    }
    Ok(contents)
}

fn take_first_version((accounts, unlogged): &mut Contents, fields: &[&str]) -> Option<()> {
    if let ["unlogged", statement] = fields {
        *unlogged = Some((*statement).to_owned());
        return Some(());
    }
    let [user, host, plugin, verifier, flags] = fields else { return None };
    let mut account = account(user, host, plugin, verifier, flags)?;
    account.grants = Grants::everything();
    accounts.insert(account.key(), account);
    Some(())
}

fn account(user: &str, host: &str, plugin: &str, verifier: &str, flags: &str) -> Option<Account> {
    let verifier = if verifier == "-" { "" } else { verifier };
    let mut account = Account::new(user, host, Plugin::by_name(plugin)?, verifier);
    for flag in flags.split(',') {
        match flag {
            "locked" => account.locked = true,
            "role" => account.is_role = true,
            "-" => {}
            _ => return None,
        }
    }
    Some(account)
}

fn take((accounts, unlogged): &mut Contents, fields: &[&str]) -> Option<()> {
    match fields {
        ["unlogged", statement] => {
            *unlogged = Some((*statement).to_owned());
            return Some(());
        }
        ["account", user, host, plugin, verifier, flags] => {
            let account = account(user, host, plugin, verifier, flags)?;
            accounts.insert(account.key(), account);
            return Some(());
        }
        _ => {}
    }
    let [kind, user, host, rest @ ..] = fields else { return None };
    let account = accounts.get_mut(&((*user).to_owned(), (*host).to_owned()))?;
    let place = |database: &&str, name: &&str| ((*database).to_owned(), (*name).to_owned());
    let own = &mut account.grants;
    match (*kind, rest) {
        ("attribute", [key, value]) => account.attributes.take(key, value)?,
        ("global", [names]) => own.global = privileges(names)?,
        ("dynamic", [names]) => own.dynamic = dynamic(names)?,
        ("grantable", [names]) => own.dynamic_grantable = dynamic(names)?,
        ("database", [database, names]) => {
            own.databases.insert((*database).to_owned(), privileges(names)?);
        }
        ("table", [database, table, names]) => {
            own.tables.entry(place(database, table)).or_default().table = privileges(names)?;
        }
        ("column", [database, table, column, names]) => {
            let entry = own.tables.entry(place(database, table)).or_default();
            entry.columns.insert((*column).to_owned(), privileges(names)?);
        }
        ("routine", [database, name, kind, names]) => {
            own.routines.insert((place(database, name), RoutineKind::by_name(kind)?), privileges(names)?);
        }
        ("revoked", [database, names]) => {
            own.restrictions.insert((*database).to_owned(), privileges(names)?);
        }
        ("role", [role, role_host, flags]) => {
            account.roles.insert(place(role, role_host), *flags == "admin");
        }
        ("default", [role, role_host]) => {
            let role: Key = place(role, role_host);
            account.default_roles.insert(role);
        }
        _ => return None,
    }
    Some(())
}

fn privileges(names: &str) -> Option<Privileges> {
    names.split(',').try_fold(Privileges::NONE, |all, name| Some(all | Privileges::by_name(name)?))
}

fn dynamic(names: &str) -> Option<Dynamic> {
    names.split(',').try_fold(Dynamic::NONE, |all, name| Some(all.with(Dynamic::by_name(name)?)))
}

/// Percent-encodes what would break a line.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' | '\t' | '\n' | '\r' => encoded.push_str(&format!("%{:02X}", c as u32)),
            c => encoded.push(c),
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut parts = text.split('%');
    decoded.push_str(parts.next()?);
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        decoded.push(code as char);
        decoded.push_str(&part[2..]);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::super::attributes::{Lifetime, Transport};
    use super::*;

    #[test]
    fn every_fact_is_read_back() {
        let mut account = Account::new("a\tb%", "10.%", Plugin::NativePassword, "*AB");
        account.locked = true;
        account.attributes.transport =
            Transport::Specified { cipher: Some("x".into()), issuer: None, subject: Some("/CN=\n".into()) };
        account.attributes.lifetime = Lifetime::Days(9);
        account.attributes.limits.user_connections = 3;
        account.attributes.merge_metadata(r#"{"a": [1], "comment": "100 %\tx"}"#).expect("an object");
        account.attributes.second_verifier = Some("*CD".into());
        account.grants = Grants::everything();
        account.grants.dynamic_grantable = Dynamic::by_name("SYSTEM_USER").unwrap();
        account.grants.databases.insert("d\\_%".into(), Privileges::DATABASE | Privileges::GRANT_OPTION);
        let table = account.grants.tables.entry(("d".into(), "t".into())).or_default();
        table.columns.insert("c".into(), Privileges::SELECT | Privileges::UPDATE);
        table.table = Privileges::DELETE;
        account.grants.routines.insert((("d".into(), "f".into()), RoutineKind::Function), Privileges::EXECUTE);
        account.grants.restrictions.insert("secret".into(), Privileges::SELECT);
        account.roles.insert(("r".into(), "%".into()), true);
        account.default_roles.insert(("r".into(), "%".into()));
        let mut role = Account::new("r", "%", Plugin::CachingSha2Password, "");
        role.is_role = true;
        let accounts: AccountMap = [account, role].into_iter().map(|account| (account.key(), account)).collect();
        let written = text(&accounts, Some("ALTER USER\t100%\n"));
        assert_eq!(parse(&written), Ok((accounts, Some("ALTER USER\t100%\n".to_owned()))));
        assert_eq!(parse(&written.replace("\tDELETE\n", "\tDELETES\n")).err(), Some(15));
    }

    #[test]
    fn accounts_of_the_first_version_may_do_everything() {
        let (accounts, unlogged) =
            parse("unlogged\tDROP USER x\nroot\tlocalhost\tcaching_sha2_password\t-\t-\napp\t%25\tmysql_native_password\t*AB\tlocked\n")
                .unwrap();
        assert_eq!(unlogged.as_deref(), Some("DROP USER x"));
        let app = &accounts[&("app".to_owned(), "%".to_owned())];
        assert_eq!((app.locked, &app.verifier[..], &app.grants), (true, "*AB", &Grants::everything()));
        assert_eq!(accounts.len(), 2);
    }
}
