//! CHECK constraints: conditions that every row of a table satisfies.
//!
//! The condition is a text, in the normal form that SHOW CREATE TABLE shows. Storage keeps it and does not read it: who
//! changes rows evaluates it first.

/// A CHECK constraint of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Unique within the database, in any case.
    pub name: Box<str>,
    pub condition: Box<str>,
    /// False for NOT ENFORCED: it is remembered, and no row is held to it.
    pub enforced: bool,
}

impl Check {
    /// The number in a name that was generated for a table of this name: `t_chk_3`.
    pub fn generated_number(&self, table: &str) -> Option<u32> {
        let number = self.name.strip_prefix(table)?.strip_prefix("_chk_")?;
        number.parse().ok().filter(|_| !number.starts_with('0') && !number.starts_with('+'))
    }

    /// Constraints with generated names follow their table's.
    pub fn rename_with_table(checks: &mut [Check], old: &str, new: &str) {
        for check in checks.iter_mut() {
            if let Some(number) = check.generated_number(old) {
                check.name = format!("{new}_chk_{number}").into();
            }
        }
        Check::sort(checks);
    }

    /// The order in which they are listed and evaluated.
    pub fn sort(checks: &mut [Check]) {
        checks.sort_by_cached_key(|check| check.name.to_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_follow_the_table() {
        let check = |name: &str| Check { name: name.into(), condition: "(`a` > 0)".into(), enforced: true };
        let mut checks = vec![check("t_chk_1"), check("own"), check("t_chk_01")];
        Check::rename_with_table(&mut checks, "t", "a");
        let names: Vec<&str> = checks.iter().map(|check| &*check.name).collect();
        assert_eq!(names, ["a_chk_1", "own", "t_chk_01"]);
    }
}
