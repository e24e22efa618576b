//! PARTITION BY, definitions of partitions, and the actions of ALTER TABLE on them.

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;

impl Parser<'_> {
    /// What stands behind PARTITION BY.
    pub(in crate::parser) fn partition_by(&mut self) -> Result<PartitionBy> {
        let method = self.partition_method()?;
        let count = if self.take_word("PARTITIONS") { Some(self.partition_count("partitions")?) } else { None };
        let subpartition = match self.take_words(&["SUBPARTITION", "BY"]) {
            true => {
                let method = self.partition_method()?;
                if !matches!(method, PartitionMethod::Hash { .. } | PartitionMethod::Key { .. }) {
                    return Err(self.unexpected());
                }
                let count =
                    if self.take_word("SUBPARTITIONS") { Some(self.partition_count("subpartitions")?) } else { None };
                Some(SubpartitionBy { method, count })
            }
            false => None,
        };
        let definitions = if self.is_symbol("(") && self.is_word_at(1, "PARTITION") {
            self.partition_definitions()?
        } else {
            Vec::new()
        };
        Ok(PartitionBy { method, count, subpartition, definitions })
    }

    fn partition_count(&mut self, what: &str) -> Result<u64> {
        match self.integer()? {
            0 => Err(Error::new(1504, b"HY000", format!("Number of {what} = 0 is not an allowed value"))),
            count => Ok(count),
        }
    }

    fn partition_method(&mut self) -> Result<PartitionMethod> {
        let linear = self.take_word("LINEAR");
        let expr = |parser: &mut Self| parser.in_parentheses(Self::expr);
        if self.take_word("HASH") {
            return Ok(PartitionMethod::Hash { linear, expr: expr(self)? });
        }
        if self.take_word("KEY") {
            let algorithm = match self.take_word("ALGORITHM") {
                true => {
                    self.take_symbol("=");
                    let algorithm = self.integer()?;
                    if !(1..=2).contains(&algorithm) {
                        return Err(self.unexpected());
                    }
                    Some(algorithm)
                }
                false => None,
            };
            let columns = self.partition_columns(true)?;
            return Ok(PartitionMethod::Key { linear, algorithm, columns });
        }
        if linear {
            return Err(self.unexpected());
        }
        match self.take_any_word(&["RANGE", "LIST"]) {
            Some("RANGE") if self.take_word("COLUMNS") => {
                Ok(PartitionMethod::RangeColumns(self.partition_columns(false)?))
            }
            Some("RANGE") => Ok(PartitionMethod::Range(expr(self)?)),
            Some(_) if self.take_word("COLUMNS") => Ok(PartitionMethod::ListColumns(self.partition_columns(false)?)),
            Some(_) => Ok(PartitionMethod::List(expr(self)?)),
            None => Err(self.unexpected()),
        }
    }

    fn partition_columns(&mut self, may_be_empty: bool) -> Result<Vec<String>> {
        self.expect_symbol("(")?;
        if may_be_empty && self.take_symbol(")") {
            return Ok(Vec::new());
        }
        let columns = self.list(Self::name)?;
        self.expect_symbol(")")?;
        Ok(columns)
    }

    /// `(PARTITION ..., PARTITION ...)`
    pub(super) fn partition_definitions(&mut self) -> Result<Vec<PartitionSpec>> {
        self.parenthesized_list(Self::partition_definition)
    }

    fn partition_definition(&mut self) -> Result<PartitionSpec> {
        self.expect_word("PARTITION")?;
        let mut partition = PartitionSpec { name: self.name()?, ..PartitionSpec::default() };
        if self.take_word("VALUES") {
            partition.values = Some(if self.take_words(&["LESS", "THAN"]) {
                match self.take_word("MAXVALUE") {
                    true => PartitionValues::LessThan(vec![PartitionValue::MaxValue]),
                    false => PartitionValues::LessThan(self.parenthesized_list(Self::partition_value)?),
                }
            } else {
                self.expect_word("IN")?;
                let mut has_rows = false;
                let rows = self.parenthesized_list(|parser| match parser.is_symbol("(") {
                    true => {
                        has_rows = true;
                        parser.parenthesized_list(Self::partition_value)
                    }
                    false => Ok(vec![parser.partition_value()?]),
                })?;
                partition.has_rows = has_rows;
                PartitionValues::In(rows)
            });
        }
        partition.options = self.partition_options()?;
        if self.is_symbol("(") {
            partition.subpartitions = self.parenthesized_list(|parser| {
                parser.expect_word("SUBPARTITION")?;
                let name = parser.name_or_text()?;
                let options = parser.partition_options()?;
                Ok(PartitionSpec { name, options, ..PartitionSpec::default() })
            })?;
        }
        Ok(partition)
    }

    fn partition_value(&mut self) -> Result<PartitionValue> {
        match self.take_word("MAXVALUE") {
            true => Ok(PartitionValue::MaxValue),
            false => Ok(PartitionValue::Expr(self.expr()?)),
        }
    }

    fn partition_options(&mut self) -> Result<PartitionOptions> {
        let mut options = PartitionOptions::default();
        loop {
            self.take_word("STORAGE");
            if self.take_word("ENGINE") {
                self.take_symbol("=");
                options.engine = Some(self.name_or_text()?);
            } else if self.take_word("COMMENT") {
                self.take_symbol("=");
                options.comment = Some(self.text()?);
            } else if self.take_word("COMPRESSION") {
                self.take_symbol("=");
                options.compression = Some(self.name_or_text()?);
            } else if self.take_words(&["DATA", "DIRECTORY"]) {
                self.take_symbol("=");
                self.text()?;
                options.data_directory = true;
            } else if self.take_words(&["INDEX", "DIRECTORY"]) {
                self.take_symbol("=");
                self.text()?;
                options.index_directory = true;
            } else if self.take_any_word(&["MAX_ROWS", "MIN_ROWS", "NODEGROUP"]).is_some() {
                self.take_symbol("=");
                self.integer()?;
            } else if self.take_word("TABLESPACE") {
                self.take_symbol("=");
                self.name_or_text()?;
            } else {
                return Ok(options);
            }
        }
    }

    /// `PARTITION (p0, p1)` behind a table's name; empty: none is named.
    pub(in crate::parser) fn partition_selection(&mut self) -> Result<Vec<String>> {
        if !self.is_word("PARTITION") || !self.is_symbol_at(1, "(") {
            return Ok(Vec::new());
        }
        self.advance();
        self.parenthesized_list(Self::name)
    }

    fn partition_names(&mut self) -> Result<PartitionNames> {
        match self.take_word("ALL") {
            true => Ok(PartitionNames::All),
            false => Ok(PartitionNames::These(self.list(Self::name)?)),
        }
    }

    /// An action of ALTER TABLE on partitions, if one follows.
    pub(super) fn partition_action(&mut self) -> Result<Option<PartitionAction>> {
        let maintenance = [
            ("ANALYZE", Maintenance::Analyze),
            ("CHECK", Maintenance::Check),
            ("OPTIMIZE", Maintenance::Optimize),
            ("REPAIR", Maintenance::Repair),
        ];
        if self.take_words(&["PARTITION", "BY"]) {
            return Ok(Some(PartitionAction::By(Box::new(self.partition_by()?))));
        }
        if self.take_words(&["REMOVE", "PARTITIONING"]) {
            return Ok(Some(PartitionAction::Remove));
        }
        if self.take_words(&["COALESCE", "PARTITION"]) {
            self.take_no_log();
            return Ok(Some(PartitionAction::Coalesce(self.integer()?)));
        }
        if self.take_words(&["REORGANIZE", "PARTITION"]) {
            self.take_no_log();
            if self.is_at_end() {
                return Ok(Some(PartitionAction::Reorganize { names: Vec::new(), definitions: Vec::new() }));
            }
            let names = self.list(Self::name)?;
            self.expect_word("INTO")?;
            return Ok(Some(PartitionAction::Reorganize { names, definitions: self.partition_definitions()? }));
        }
        if self.take_words(&["EXCHANGE", "PARTITION"]) {
            let name = self.name()?;
            self.expect_word("WITH")?;
            self.expect_word("TABLE")?;
            let table = self.table_name()?;
            let validation = !self.take_words(&["WITHOUT", "VALIDATION"]);
            if validation {
                self.take_words(&["WITH", "VALIDATION"]);
            }
            return Ok(Some(PartitionAction::Exchange { name, table, validation }));
        }
        if self.take_words(&["TRUNCATE", "PARTITION"]) {
            return Ok(Some(PartitionAction::Truncate(self.partition_names()?)));
        }
        if self.take_words(&["REBUILD", "PARTITION"]) {
            self.take_no_log();
            return Ok(Some(PartitionAction::Rebuild(self.partition_names()?)));
        }
        for (word, transfer) in [("DISCARD", Transfer::Discard), ("IMPORT", Transfer::Import)] {
            if self.take_words(&[word, "PARTITION"]) {
                let names = self.partition_names()?;
                self.expect_word("TABLESPACE")?;
                return Ok(Some(PartitionAction::Tablespace(transfer, names)));
            }
        }
        for (word, action) in maintenance {
            if self.take_words(&[word, "PARTITION"]) {
                self.take_no_log();
                let names = self.partition_names()?;
                while self.take_any_word(&["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED", "USE_FRM"]).is_some() {}
                let _ = self.take_words(&["FOR", "UPGRADE"]);
                return Ok(Some(PartitionAction::Maintain(action, names)));
            }
        }
        Ok(None)
    }

    fn take_no_log(&mut self) {
        let _ = self.take_word("NO_WRITE_TO_BINLOG") || self.take_word("LOCAL");
    }

    /// What stands behind ADD PARTITION.
    pub(super) fn add_partition(&mut self) -> Result<PartitionAction> {
        let if_not_exists = self.if_not_exists()?;
        self.take_no_log();
        if self.take_word("PARTITIONS") {
            let count = match self.integer()? {
                0 => return Err(Error::new(1514, b"HY000", "At least one partition must be added")),
                count => Some(count),
            };
            return Ok(PartitionAction::Add { definitions: Vec::new(), count, if_not_exists });
        }
        Ok(PartitionAction::Add { definitions: self.partition_definitions()?, count: None, if_not_exists })
    }

    /// What stands behind DROP PARTITION.
    pub(super) fn drop_partition(&mut self) -> Result<PartitionAction> {
        let if_exists = self.if_exists()?;
        Ok(PartitionAction::Drop { names: self.list(Self::name)?, if_exists })
    }

    /// The clause of a rule that a table has.
    pub(in crate::parser) fn whole_partition_by(&mut self) -> Result<PartitionBy> {
        self.expect_word("PARTITION")?;
        self.expect_word("BY")?;
        let by = self.partition_by()?;
        match self.is_at_end() {
            true => Ok(by),
            false => Err(self.unexpected()),
        }
    }
}
