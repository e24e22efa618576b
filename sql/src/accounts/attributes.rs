//! What an account demands of its clients besides a password, and what it demands of its passwords.

use format::value::Json;

use super::Plugin;
use crate::transport::TlsFacts;

/// What the connection must be (REQUIRE).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Transport {
    #[default]
    Any,
    Ssl,
    X509,
    /// Those that are `Some` must be equal; the client has a certificate if it is one of the last two.
    Specified {
        cipher: Option<String>,
        issuer: Option<String>,
        subject: Option<String>,
    },
}

impl Transport {
    /// Whether a connection with this encryption, or without any, may be the account's.
    pub fn admits(&self, tls: Option<&TlsFacts>) -> bool {
        let is = |wanted: &Option<String>, own: Option<&str>| wanted.is_none() || wanted.as_deref() == own;
        match (self, tls) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::Ssl, Some(_)) => true,
            (Self::X509, Some(tls)) => tls.subject.is_some(),
            (Self::Specified { cipher, issuer, subject }, Some(tls)) => {
                is(cipher, Some(tls.cipher)) && is(issuer, tls.issuer.as_deref()) && is(subject, tls.subject.as_deref())
            }
        }
    }

    /// As SHOW CREATE USER writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Any => "NONE".to_owned(),
            Self::Ssl => "SSL".to_owned(),
            Self::X509 => "X509".to_owned(),
            Self::Specified { cipher, issuer, subject } => {
                let parts = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
                let said = parts.iter().filter_map(|(word, value)| {
                    value.as_ref().map(|value| format!("{word} '{}'", value.replace('\'', "''")))
                });
                said.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// When a password is too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// What `default_password_lifetime` says.
    #[default]
    Default,
    Never,
    Days(u32),
}

/// WITH MAX_...; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub queries_per_hour: u32,
    pub updates_per_hour: u32,
    pub connections_per_hour: u32,
    pub user_connections: u32,
}

impl Limits {
    /// Names as statements write them, with their values.
    pub fn named(&self) -> [(&'static str, u32); 4] {
        [
            ("MAX_QUERIES_PER_HOUR", self.queries_per_hour),
            ("MAX_UPDATES_PER_HOUR", self.updates_per_hour),
            ("MAX_CONNECTIONS_PER_HOUR", self.connections_per_hour),
            ("MAX_USER_CONNECTIONS", self.user_connections),
        ]
    }

    pub fn by_name(&mut self, name: &str) -> Option<&mut u32> {
        match name {
            "MAX_QUERIES_PER_HOUR" => Some(&mut self.queries_per_hour),
            "MAX_UPDATES_PER_HOUR" => Some(&mut self.updates_per_hour),
            "MAX_CONNECTIONS_PER_HOUR" => Some(&mut self.connections_per_hour),
            "MAX_USER_CONNECTIONS" => Some(&mut self.user_connections),
            _ => None,
        }
    }
}

/// PASSWORD_LOCK_TIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTime {
    Days(u32),
    Unbounded,
}

impl Default for LockTime {
    fn default() -> Self {
        Self::Days(0)
    }
}

/// A password that the account had: when it got it, and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerPassword {
    pub seconds: u64,
    pub plugin: Plugin,
    pub verifier: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    pub transport: Transport,
    pub limits: Limits,
    pub lifetime: Lifetime,
    /// PASSWORD EXPIRE: until the password is changed.
    pub is_expired: bool,
    /// When the password was given, in seconds since 1970; 0 is unknown.
    pub password_seconds: u64,
    /// PASSWORD HISTORY, REUSE INTERVAL, REQUIRE CURRENT; `None` is what the server's variables say.
    pub history: Option<u32>,
    pub reuse_days: Option<u32>,
    pub requires_current: Option<bool>,
    /// FAILED_LOGIN_ATTEMPTS; 0 is no limit.
    pub failed_attempts_max: u32,
    pub lock_time: LockTime,
    /// ATTRIBUTE: a JSON object. COMMENT is its member `comment`.
    pub metadata: Option<String>,
    /// What is left of the password that was retained beside the account's.
    pub second_verifier: Option<String>,
    /// The newest last.
    pub former_passwords: Vec<FormerPassword>,
}

impl Attributes {
    fn members(&self) -> Vec<(String, Json)> {
        match self.metadata.as_ref().map(|text| Json::parse(text.as_bytes())) {
            Some(Ok(Json::Object(members))) => members,
            _ => Vec::new(),
        }
    }

    fn set_members(&mut self, members: Vec<(String, Json)>) {
        let mut text = Vec::new();
        Json::object(members).write(&mut text);
        self.metadata = Some(String::from_utf8_lossy(&text).into_owned());
    }

    /// The comment, if the account has nothing but that.
    pub fn comment(&self) -> Option<String> {
        match &self.members()[..] {
            [(name, Json::String(comment))] if name == "comment" => Some(comment.clone()),
            _ => None,
        }
    }

    /// COMMENT. An empty one is none.
    pub fn set_comment(&mut self, comment: &str) {
        let mut members = self.members();
        members.retain(|(name, _)| name != "comment");
        if !comment.is_empty() {
            members.push(("comment".to_owned(), Json::String(comment.to_owned())));
        }
        match members.is_empty() {
            true => self.metadata = None,
            false => self.set_members(members),
        }
    }

    /// ATTRIBUTE: the members of an object are added to those that are there, as JSON_MERGE_PATCH does it. `None`: the
    /// text is no object.
    pub fn merge_metadata(&mut self, text: &str) -> Option<()> {
        let patch = Json::parse(text.as_bytes()).ok().filter(|patch| matches!(patch, Json::Object(_)))?;
        let Json::Object(members) = merged(Json::Object(self.members()), patch) else { return None };
        self.set_members(members);
        Some(())
    }

    /// Each attribute that is not its default as a key and a value.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        match &self.transport {
            Transport::Any => {}
            Transport::Ssl => pairs.push(("require", "ssl".to_owned())),
            Transport::X509 => pairs.push(("require", "x509".to_owned())),
            Transport::Specified { cipher, issuer, subject } => {
                pairs.push(("require", "specified".to_owned()));
                for (key, value) in [("cipher", cipher), ("issuer", issuer), ("subject", subject)] {
                    pairs.extend(value.clone().map(|value| (key, value)));
                }
            }
        }
        let limits = self.limits.named().into_iter().filter(|(_, limit)| *limit > 0);
        pairs.extend(limits.map(|(name, limit)| (name, limit.to_string())));
        match self.lifetime {
            Lifetime::Default => {}
            Lifetime::Never => pairs.push(("lifetime", "never".to_owned())),
            Lifetime::Days(days) => pairs.push(("lifetime", days.to_string())),
        }
        if self.is_expired {
            pairs.push(("expired", "yes".to_owned()));
        }
        if self.password_seconds > 0 {
            pairs.push(("changed", self.password_seconds.to_string()));
        }
        pairs.extend(self.history.map(|count| ("history", count.to_string())));
        pairs.extend(self.reuse_days.map(|days| ("reuse_days", days.to_string())));
        pairs.extend(self.requires_current.map(|required| ("require_current", yes(required))));
        if self.failed_attempts_max > 0 {
            pairs.push(("failed_attempts", self.failed_attempts_max.to_string()));
        }
        match self.lock_time {
            LockTime::Days(0) => {}
            LockTime::Days(days) => pairs.push(("lock_days", days.to_string())),
            LockTime::Unbounded => pairs.push(("lock_days", "unbounded".to_owned())),
        }
        match self.comment() {
            Some(comment) => pairs.push(("comment", comment)),
            None => pairs.extend(self.metadata.clone().map(|metadata| ("attribute", metadata))),
        }
        pairs.extend(self.second_verifier.clone().map(|verifier| ("second", verifier)));
        let former =
            |old: &FormerPassword| ("former", format!("{} {} {}", old.seconds, old.plugin.name(), old.verifier));
        pairs.extend(self.former_passwords.iter().map(former));
        pairs
    }

    /// Takes one of the pairs back; `None`: there is no such key, or the value is none of it.
    pub fn take(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "require" => {
                self.transport = match value {
                    "ssl" => Transport::Ssl,
                    "x509" => Transport::X509,
                    "specified" => Transport::Specified { cipher: None, issuer: None, subject: None },
                    _ => return None,
                }
            }
            "cipher" | "issuer" | "subject" => {
                let Transport::Specified { cipher, issuer, subject } = &mut self.transport else { return None };
                let place = match key {
                    "cipher" => cipher,
                    "issuer" => issuer,
                    _ => subject,
                };
                *place = Some(value.to_owned());
            }
            "lifetime" => {
                self.lifetime = match value {
                    "never" => Lifetime::Never,
                    days => Lifetime::Days(days.parse().ok()?),
                }
            }
            "expired" => self.is_expired = value == "yes",
            "changed" => self.password_seconds = value.parse().ok()?,
            "history" => self.history = Some(value.parse().ok()?),
            "reuse_days" => self.reuse_days = Some(value.parse().ok()?),
            "require_current" => self.requires_current = Some(value == "yes"),
            "failed_attempts" => self.failed_attempts_max = value.parse().ok()?,
            "lock_days" => {
                self.lock_time = match value {
                    "unbounded" => LockTime::Unbounded,
                    days => LockTime::Days(days.parse().ok()?),
                }
            }
            "comment" => self.set_comment(value),
            "attribute" => self.merge_metadata(value)?,
            "second" => self.second_verifier = Some(value.to_owned()),
            "former" => {
                let mut parts = value.splitn(3, ' ');
                let seconds = parts.next()?.parse().ok()?;
                let plugin = Plugin::by_name(parts.next()?)?;
                let verifier = parts.next()?.to_owned();
                self.former_passwords.push(FormerPassword { seconds, plugin, verifier });
            }
            limit => *self.limits.by_name(limit)? = value.parse().ok()?,
        }
        Some(())
    }
}

/// RFC 7396: objects are merged member by member, null removes one, and anything else takes the place of what was there.
fn merged(target: Json, patch: Json) -> Json {
    let Json::Object(patch) = patch else { return patch };
    let mut members = if let Json::Object(members) = target { members } else { Vec::new() };
    for (name, value) in patch {
        let old = members.iter().position(|(other, _)| *other == name).map(|at| members.remove(at).1);
        if value != Json::Null {
            members.push((name, merged(old.unwrap_or(Json::Null), value)));
        }
    }
    Json::object(members)
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
