//! The source, as CHANGE REPLICATION SOURCE TO describes it.

use std::time::Duration;

use sql::Error;
use sql::error::Result;
use sql::parser::ast::SourceValue;
use sql::transport::TlsSettings;

use crate::tls::Mode;

/// The default of SOURCE_CONNECT_RETRY and SOURCE_RETRY_COUNT, as in MySQL 8.0.
const CONNECT_RETRY: u64 = 60;
const RETRY_COUNT: u64 = 86_400;
const PORT: u16 = 3306;

/// MASTER_USE_GTID. Both are where the replica is with its sources: this server gives no transactions such names itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseGtid {
    SlavePos,
    CurrentPos,
}

impl UseGtid {
    /// As MariaDB shows it.
    pub fn name(self) -> &'static str {
        match self {
            UseGtid::SlavePos => "Slave_Pos",
            UseGtid::CurrentPos => "Current_Pos",
        }
    }
}

/// Where the source is, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// Seconds between two tries to connect, and how many there are.
    pub connect_retry: u64,
    pub retry_count: u64,
    /// Milliseconds between heartbeats; `None` = half of `replica_net_timeout`.
    pub heartbeat_ms: Option<u64>,
    /// The source is told what has been applied, and finds the place itself.
    pub auto_position: bool,
    /// The same by MariaDB's GTIDs.
    pub use_gtid: Option<UseGtid>,
    /// Seconds that transactions wait.
    pub delay: u64,
    pub ignored_servers: Vec<u32>,
    pub get_public_key: bool,
    /// The file of the source's public key.
    pub public_key_path: String,
    /// SOURCE_SSL, SOURCE_SSL_VERIFY_SERVER_CERT, and the options of TLS.
    pub is_encrypted: bool,
    pub is_verified: bool,
    pub tls: TlsSettings,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            host: String::new(),
            port: PORT,
            user: String::new(),
            password: String::new(),
            connect_retry: CONNECT_RETRY,
            retry_count: RETRY_COUNT,
            heartbeat_ms: None,
            auto_position: false,
            use_gtid: None,
            delay: 0,
            ignored_servers: Vec::new(),
            get_public_key: false,
            public_key_path: String::new(),
            is_encrypted: false,
            is_verified: false,
            tls: TlsSettings::default(),
        }
    }
}

/// What a statement changed beside the source's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub file: Option<String>,
    pub position: Option<u64>,
    /// The source is another one: its log is read from the beginning.
    pub is_other: bool,
    /// Only the applier is concerned: the receiver may go on.
    pub is_delay_alone: bool,
}

impl Source {
    /// The time between heartbeats, if a read gives up after `timeout`.
    pub fn heartbeat(&self, timeout: Duration) -> Duration {
        self.heartbeat_ms.map_or(timeout / 2, Duration::from_millis)
    }

    /// How the connection is encrypted: SOURCE_SSL asks for it, and more files and options for more.
    pub fn tls_mode(&self) -> Mode {
        match (self.is_encrypted, self.is_verified) {
            (false, _) => Mode::Disabled,
            (true, true) => Mode::VerifyIdentity,
            (true, false) if self.tls.ca.is_empty() && self.tls.ca_directory.is_empty() => Mode::Required,
            (true, false) => Mode::VerifyCa,
        }
    }

    /// The options of TLS as one text, a line each, in which they are stored.
    pub fn tls_text(&self) -> String {
        let flags = [("SSL", self.is_encrypted), ("SSL_VERIFY_SERVER_CERT", self.is_verified)];
        let flags = flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| format!("{name}=1\n"));
        let texts = [
            ("PUBLIC_KEY_PATH", &self.public_key_path),
            ("SSL_CA", &self.tls.ca),
            ("SSL_CAPATH", &self.tls.ca_directory),
            ("SSL_CERT", &self.tls.certificate),
            ("SSL_KEY", &self.tls.key),
            ("SSL_CIPHER", &self.tls.ciphers),
            ("TLS_CIPHERSUITES", &self.tls.suites),
            ("SSL_CRL", &self.tls.revoked),
            ("SSL_CRLPATH", &self.tls.revoked_directory),
            ("TLS_VERSION", &self.tls.versions),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        flags.chain(texts.map(|(name, text)| format!("{name}={text}\n"))).collect()
    }

    /// Reads what [`Source::tls_text`] wrote.
    pub fn set_tls_text(&mut self, text: &str) -> Result<()> {
        let options = text.lines().filter_map(|line| line.split_once('='));
        let options: Vec<(String, SourceValue)> = options
            .map(|(name, value)| match name {
                "SSL" | "SSL_VERIFY_SERVER_CERT" => (name.to_owned(), SourceValue::Word(value.to_owned())),
                _ => (name.to_owned(), SourceValue::Text(value.to_owned())),
            })
            .collect();
        self.change(&options).map(drop)
    }

    /// Changes it as the statement says.
    pub fn change(&mut self, options: &[(String, SourceValue)]) -> Result<Moved> {
        let mut moved = Moved { is_delay_alone: true, ..Moved::default() };
        let (mut uses_gtid, mut says_auto_position) = (false, None);
        for (name, value) in options {
            moved.is_delay_alone &= name == "DELAY";
            match name.as_str() {
                "HOST" => {
                    let host = text(name, value)?;
                    if host.is_empty() {
                        return Err(wrong(name));
                    }
                    moved.is_other |= host != self.host;
                    self.host = host;
                }
                "PORT" => {
                    let port = u16::try_from(number(name, value)?).map_err(|_| wrong(name))?;
                    moved.is_other |= port != self.port;
                    self.port = port;
                }
                "USER" => self.user = text(name, value)?,
                "PASSWORD" => self.password = text(name, value)?,
                "CONNECT_RETRY" => self.connect_retry = number(name, value)?,
                "RETRY_COUNT" => self.retry_count = number(name, value)?,
                "HEARTBEAT_PERIOD" => self.heartbeat_ms = Some(milliseconds(name, value)?),
                "LOG_FILE" => moved.file = Some(text(name, value)?),
                "LOG_POS" => moved.position = Some(number(name, value)?.max(4)),
                "AUTO_POSITION" => says_auto_position = Some(number(name, value)? != 0),
                "DELAY" => self.delay = number(name, value)?,
                "GET_PUBLIC_KEY" | "GET_SOURCE_PUBLIC_KEY" | "GET_MASTER_PUBLIC_KEY" => {
                    self.get_public_key = number(name, value)? != 0;
                }
                "IGNORE_SERVER_IDS" => match value {
                    SourceValue::List(ids) => {
                        let ids: Option<Vec<u32>> = ids.iter().map(|id| id.parse().ok()).collect();
                        self.ignored_servers = ids.ok_or_else(|| wrong(name))?;
                    }
                    _ => return Err(wrong(name)),
                },
                "PUBLIC_KEY_PATH" => self.public_key_path = text(name, value)?,
                "SSL" => self.is_encrypted = number(name, value)? != 0,
                "SSL_VERIFY_SERVER_CERT" => self.is_verified = number(name, value)? != 0,
                "SSL_CA" => self.tls.ca = text(name, value)?,
                "SSL_CAPATH" => self.tls.ca_directory = text(name, value)?,
                "SSL_CERT" => self.tls.certificate = text(name, value)?,
                "SSL_KEY" => self.tls.key = text(name, value)?,
                "SSL_CIPHER" => self.tls.ciphers = text(name, value)?,
                "TLS_CIPHERSUITES" => self.tls.suites = text(name, value)?,
                "SSL_CRL" => self.tls.revoked = text(name, value)?,
                "SSL_CRLPATH" => self.tls.revoked_directory = text(name, value)?,
                "TLS_VERSION" => {
                    let versions = text(name, value)?;
                    let given = TlsSettings { versions: versions.clone(), ..TlsSettings::default() };
                    given.versions().map_err(|_| wrong(name))?;
                    self.tls.versions = versions;
                }
                "USE_GTID" => {
                    self.use_gtid = match value {
                        SourceValue::Word(word) if word == "NO" => None,
                        SourceValue::Word(word) if word == "SLAVE_POS" || word == "REPLICA_POS" => {
                            Some(UseGtid::SlavePos)
                        }
                        SourceValue::Word(word) if word == "CURRENT_POS" => Some(UseGtid::CurrentPos),
                        _ => return Err(wrong(name)),
                    };
                    uses_gtid = self.use_gtid.is_some();
                    says_auto_position.get_or_insert(false);
                }
                name => return Err(Error::unsupported(format!("SOURCE_{name}"))),
            }
        }
        if uses_gtid && says_auto_position == Some(true) {
            return Err(wrong("USE_GTID"));
        }
        self.auto_position = says_auto_position.unwrap_or(self.auto_position);
        // As in MariaDB a place ends the use of its GTIDs, unless they are asked for beside it.
        let has_place = moved.file.is_some() || moved.position.is_some();
        if self.auto_position || has_place && !uses_gtid {
            self.use_gtid = None;
        }
        if self.auto_position && (moved.file.is_some() || moved.position.is_some()) {
            let text = "Source_log_file, source_log_pos, relay_log_file and relay_log_pos cannot be set when \
                        source_auto_position is active.";
            return Err(Error::new(1776, b"HY000", text));
        }
        Ok(moved)
    }
}

fn wrong(name: &str) -> Error {
    Error::wrong_arguments(&format!("SOURCE_{name}"))
}

fn text(name: &str, value: &SourceValue) -> Result<String> {
    match value {
        SourceValue::Text(text) => Ok(text.clone()),
        SourceValue::Word(word) if word == "NULL" => Ok(String::new()),
        _ => Err(wrong(name)),
    }
}

fn number(name: &str, value: &SourceValue) -> Result<u64> {
    match value {
        SourceValue::Word(word) => word.parse().map_err(|_| wrong(name)),
        _ => Err(wrong(name)),
    }
}

fn milliseconds(name: &str, value: &SourceValue) -> Result<u64> {
    match value {
        SourceValue::Word(word) => {
            let seconds: f64 = word.parse().map_err(|_| wrong(name))?;
            if !(0.0..=4_294_967.0).contains(&seconds) {
                let text = "The requested value for the heartbeat period is either negative or exceeds the maximum \
                            allowed (4294967 seconds).";
                return Err(Error::new(1703, b"HY000", text));
            }
            Ok((seconds * 1000.0) as u64)
        }
        _ => Err(wrong(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(name: &str, word: &str) -> (String, SourceValue) {
        (name.to_owned(), SourceValue::Word(word.to_owned()))
    }

    #[test]
    fn another_host_or_port_is_another_source() {
        let mut source = Source::default();
        let host = ("HOST".to_owned(), SourceValue::Text("a".to_owned()));
        assert!(source.change(&[host.clone(), word("PORT", "3307")]).unwrap().is_other);
        assert!(!source.change(&[host, word("PORT", "3307")]).unwrap().is_other);
        assert!(source.change(&[word("PORT", "3308")]).unwrap().is_other);
        assert!(source.change(&[word("DELAY", "3")]).unwrap().is_delay_alone);
        assert_eq!(source.delay, 3);
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for (option, code) in [
            (("TLS_VERSION".to_owned(), SourceValue::Text("TLSv1".to_owned())), 1210),
            (word("USE_GTID", "SOME_POS"), 1210),
            (word("COMPRESSION_ALGORITHMS", "1"), 1235),
            (word("PORT", "70000"), 1210),
            (word("HEARTBEAT_PERIOD", "9999999"), 1703),
        ] {
            assert_eq!(Source::default().change(&[option]).unwrap_err().code, code);
        }
        let mut source = Source::default();
        source.change(&[word("AUTO_POSITION", "1")]).unwrap();
        assert_eq!(source.change(&[word("LOG_POS", "4")]).unwrap_err().code, 1776);
        let both = [word("AUTO_POSITION", "1"), word("USE_GTID", "SLAVE_POS")];
        assert_eq!(Source::default().change(&both).unwrap_err().code, 1210);
    }

    #[test]
    fn one_way_to_find_the_place_ends_the_others() {
        let mut source = Source::default();
        let mut after = |options: &[(String, SourceValue)]| {
            source.change(options).unwrap();
            (source.auto_position, source.use_gtid)
        };
        assert_eq!(after(&[word("USE_GTID", "SLAVE_POS")]), (false, Some(UseGtid::SlavePos)));
        assert_eq!(after(&[word("DELAY", "1")]), (false, Some(UseGtid::SlavePos)));
        assert_eq!(after(&[word("LOG_POS", "4")]), (false, None));
        let beside = [word("USE_GTID", "CURRENT_POS"), word("LOG_POS", "4")];
        assert_eq!(after(&beside), (false, Some(UseGtid::CurrentPos)));
        assert_eq!(after(&[word("AUTO_POSITION", "1")]), (true, None));
        assert_eq!(after(&[word("USE_GTID", "NO")]), (false, None));
    }

    #[test]
    fn options_of_tls_are_stored_and_read() {
        let text = |name: &str, text: &str| (name.to_owned(), SourceValue::Text(text.to_owned()));
        let mut source = Source::default();
        assert_eq!((source.tls_mode(), source.tls_text()), (Mode::Disabled, String::new()));
        source.change(&[word("SSL", "1")]).unwrap();
        assert_eq!(source.tls_mode(), Mode::Required);
        let more = [text("SSL_CA", "ca.pem"), text("SSL_CERT", "a=b.pem"), text("SSL_KEY", "k.pem")];
        source.change(&more).unwrap();
        assert_eq!(source.tls_mode(), Mode::VerifyCa);
        let rest = [
            word("SSL_VERIFY_SERVER_CERT", "1"),
            text("TLS_VERSION", "TLSv1.3"),
            text("SSL_CAPATH", "d"),
            text("SSL_CIPHER", "c"),
            text("TLS_CIPHERSUITES", "s"),
            text("SSL_CRL", "r"),
            text("SSL_CRLPATH", "p"),
            text("PUBLIC_KEY_PATH", "key.pem"),
        ];
        source.change(&rest).unwrap();
        assert_eq!(source.tls_mode(), Mode::VerifyIdentity);
        let mut stored = Source::default();
        stored.set_tls_text(&source.tls_text()).unwrap();
        assert_eq!(stored, source);
        source.change(&[word("SSL", "0")]).unwrap();
        assert_eq!(source.tls_mode(), Mode::Disabled);
    }
}
