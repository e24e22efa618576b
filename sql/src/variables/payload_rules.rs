//! Who is sent compressed transactions: the value of `binlog_dump_payloads`.

/// `binlog_dump_payloads`: whether clients get compressed transactions as they are.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PayloadRules {
    /// `None` = as the client says of itself.
    all: Option<bool>,
    accounts: Vec<(String, Option<bool>)>,
}

impl PayloadRules {
    /// `AUTO`, `ON` or `OFF` for all accounts, and `user:...` for some, with commas between; `None` = malformed.
    pub fn parse(text: &str) -> Option<PayloadRules> {
        let choice = |word: &str| match word.trim().to_ascii_uppercase().as_str() {
            "AUTO" => Some(None),
            "ON" => Some(Some(true)),
            "OFF" => Some(Some(false)),
            _ => None,
        };
        let mut rules = PayloadRules::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            match part.rsplit_once(':') {
                Some((user, word)) => rules.accounts.push((user.trim().to_owned(), choice(word)?)),
                None => rules.all = choice(part)?,
            }
        }
        Some(rules)
    }

    /// `None` = as the client says of itself.
    pub fn of(&self, user: &str) -> Option<bool> {
        self.accounts.iter().find(|(account, _)| account == user).map_or(self.all, |(_, choice)| *choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_for_payloads_are_for_all_or_for_an_account() {
        let rules = PayloadRules::parse("off, repl:ON,cdc : auto").unwrap();
        assert_eq!((rules.of("x"), rules.of("repl"), rules.of("cdc")), (Some(false), Some(true), None));
        assert_eq!(PayloadRules::parse("AUTO").unwrap().of("x"), None);
        assert_eq!(PayloadRules::parse("").unwrap(), PayloadRules::default());
        for bad in ["x", "repl:", "repl:maybe", "ON OFF"] {
            assert_eq!(PayloadRules::parse(bad), None, "{bad}");
        }
    }
}
