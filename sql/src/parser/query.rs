//! SELECT and everything that stands where a SELECT can stand.

use std::collections::HashSet;

use super::ast::*;
use super::lexer::{Kind, Token};
use super::{Parser, hint};
use crate::error::{Error, Result};

/// The longest name of an output column without an alias.
const NAME_BYTES_MAX: usize = 255;

/// The most that may follow in a chain of set operations: each is kept.
const CHAIN_MAX: usize = 1 << 16;

impl Parser<'_> {
    /// A query with all that may follow it: ORDER BY, LIMIT, INTO, locks.
    pub(super) fn query(&mut self) -> Result<Query> {
        self.nested(|parser| {
            // INTO of a query around this one, which stands between its select list and FROM.
            let outer_into = parser.into_found.take();
            let with = parser.with()?;
            let body = parser.body(0)?;
            let into = SelectInto::Client;
            let mut query = Query { with, body, order_by: Vec::new(), limit: None, lock: None, into };
            // SELECT ... INTO @a FROM t: the select itself found it already.
            if let Some(into) = parser.into_found.take() {
                query.into = into;
            }
            parser.query_tail(&mut query)?;
            parser.into_found = outer_into;
            Ok(parser.unwrap_nested(query))
        })
    }

    /// `((SELECT ...))` alone is the query inside.
    fn unwrap_nested(&self, query: Query) -> Query {
        match query {
            Query { with: None, body: Body::Nested(inner), order_by, limit: None, lock: None, into }
                if order_by.is_empty() && into.is_client() =>
            {
                *inner
            }
            other => other,
        }
    }

    fn query_tail(&mut self, query: &mut Query) -> Result<()> {
        if self.is_word("ORDER") {
            query.order_by = self.order_by()?;
        }
        if self.is_word("LIMIT") {
            query.limit = Some(self.limit()?);
        } else if self.is_fetch() {
            query.limit = Some(self.fetch()?);
        }
        if self.is_word("PROCEDURE") {
            self.skip_rest()?;
            return Err(Error::unsupported("PROCEDURE ANALYSE"));
        }
        self.select_into(query)?;
        while self.is_word("FOR") || self.is_word("LOCK") {
            let lock = self.row_lock()?;
            query.lock = Some(lock);
        }
        self.select_into(query)
    }

    fn select_into(&mut self, query: &mut Query) -> Result<()> {
        if self.take_word("INTO") {
            let into = self.destination()?;
            if !query.into.is_client() {
                return Err(Error::multiple_into());
            }
            query.into = into;
        }
        Ok(())
    }

    pub(super) fn with(&mut self) -> Result<Option<With>> {
        if !self.take_word("WITH") {
            return Ok(None);
        }
        let recursive = self.take_word("RECURSIVE");
        let tables = self.list(|parser| {
            let name = parser.name()?;
            let columns = if parser.is_symbol("(") { parser.parenthesized_list(Self::name)? } else { Vec::new() };
            parser.expect_word("AS")?;
            Ok(CommonTable { name, columns, query: parser.parenthesized_query()? })
        })?;
        let mut names = HashSet::new();
        if let Some(twice) = tables.iter().find(|table| !names.insert(&table.name)) {
            return Err(Error::not_unique_table(&twice.name));
        }
        Ok(Some(With { recursive, tables }))
    }

    /// `( query )` inside of another statement.
    pub(super) fn parenthesized_query(&mut self) -> Result<Query> {
        self.in_parentheses(Self::inner_query)
    }

    /// A query whose rows another statement uses: it cannot send them elsewhere.
    pub(super) fn inner_query(&mut self) -> Result<Query> {
        let query = self.query()?;
        if query.into.is_client() { Ok(query) } else { Err(Error::misplaced_into()) }
    }

    /// Whether a query begins at a token, behind any number of parentheses.
    pub(super) fn is_query_at(&self, mut ahead: usize) -> bool {
        while self.is_symbol_at(ahead, "(") {
            ahead += 1;
        }
        self.is_word_at(ahead, "SELECT")
            || self.is_word_at(ahead, "WITH")
            || (self.is_word_at(ahead, "VALUES") && self.is_word_at(ahead + 1, "ROW"))
            || (ahead > 0 && self.is_values_at(ahead))
            || (self.is_word_at(ahead, "TABLE") && self.is_name_at(ahead + 1))
    }

    /// `VALUES (1), (2)` or `VALUES (1) UNION ...`: MariaDB's rows without ROW, and not the function of a column.
    fn is_values_at(&self, ahead: usize) -> bool {
        if !self.is_word_at(ahead, "VALUES") || !self.is_symbol_at(ahead + 1, "(") {
            return false;
        }
        let mut open = 0;
        for ahead in ahead + 1.. {
            match self.bytes(self.peek_at(ahead)) {
                b"(" => open += 1,
                b")" => open -= 1,
                _ if self.at + ahead >= self.last => return false,
                _ => {}
            }
            if open == 0 {
                let words = ["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT"];
                let rows = self.is_symbol_at(ahead + 1, ",") && self.is_symbol_at(ahead + 2, "(");
                return rows || words.iter().any(|word| self.is_word_at(ahead + 1, word));
            }
        }
        false
    }

    /// Whether the parenthesis here holds a query: `(SELECT 1)`, `((SELECT 1) UNION SELECT 2)`, but neither
    /// `((SELECT 1) + 2)` nor `((SELECT 1) AS a JOIN b)`, where only the inner one does.
    pub(super) fn is_nested_query(&self) -> bool {
        if !self.is_symbol("(") || !self.is_query_at(1) {
            return false;
        }
        let inner = (1..).take_while(|ahead| self.is_symbol_at(*ahead, "(")).count();
        let (mut open, mut lowest) = (inner + 1, inner + 1);
        for ahead in inner + 1.. {
            let token = self.peek_at(ahead);
            match (token.kind, self.bytes(token)) {
                (Kind::Symbol, b"(") => open += 1,
                (Kind::Symbol, b")") => {
                    open -= 1;
                    if open == 0 {
                        return true;
                    }
                    // Parentheses behind an inner query are those of what follows it.
                    if open >= lowest {
                        continue;
                    }
                    lowest = open;
                    // Behind an inner query only what continues a query may follow.
                    let words = ["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "FOR", "LOCK", "INTO"];
                    let continues = words.iter().any(|word| self.is_word_at(ahead + 1, word));
                    if !continues && !self.is_symbol_at(ahead + 1, ")") {
                        return false;
                    }
                }
                (Kind::End | Kind::Bad, _) | (Kind::Symbol, b";") => return true,
                _ => {}
            }
        }
        true
    }

    /// UNION and EXCEPT from left to right; INTERSECT binds tighter.
    fn body(&mut self, lowest: u8) -> Result<Body> {
        let first = self.body_operand()?;
        let mut rest = Vec::new();
        loop {
            let (operator, rank) = if self.is_word("UNION") {
                (SetOperator::Union, 0)
            } else if self.is_word("EXCEPT") {
                (SetOperator::Except, 0)
            } else if self.is_word("INTERSECT") {
                (SetOperator::Intersect, 1)
            } else {
                break;
            };
            if rank < lowest {
                break;
            }
            if rest.len() >= CHAIN_MAX {
                return Err(Error::nested_too_deep());
            }
            // Of a query that is not the last.
            if self.into_found.is_some() {
                return Err(Error::misplaced_into());
            }
            self.advance();
            let all = self.take_word("ALL");
            if !all {
                self.take_word("DISTINCT");
            }
            rest.push(SetPart { operator, all, body: self.body(rank + 1)? });
        }
        Ok(if rest.is_empty() { first } else { Body::Set { first: Box::new(first), rest } })
    }

    fn body_operand(&mut self) -> Result<Body> {
        if self.is_symbol("(") {
            return Ok(Body::Nested(Box::new(self.in_parentheses(Self::query)?)));
        }
        if self.take_word("VALUES") {
            return self.values();
        }
        if self.take_word("TABLE") {
            return Ok(Body::Table(self.table_name()?));
        }
        self.expect_word("SELECT")?;
        Ok(Body::Select(Box::new(self.select()?)))
    }

    /// Behind VALUES.
    fn values(&mut self) -> Result<Body> {
        if self.is_word("ROW") {
            let rows = self.list(|parser| {
                parser.expect_word("ROW")?;
                parser.parenthesized_list(Self::expr)
            })?;
            let names = (0..rows[0].len()).map(|at| format!("column_{at}")).collect();
            return Ok(Body::Values { rows, names });
        }
        let mut names = Vec::new();
        let rows = self.list(|parser| {
            let is_first = names.is_empty();
            parser.parenthesized_list(|parser| {
                let start = parser.peek();
                let expr = parser.expr()?;
                if is_first {
                    names.push(parser.item_name(&expr, start));
                }
                Ok(expr)
            })
        })?;
        Ok(Body::Values { rows, names })
    }

    /// What an item without an alias is called: as it was written, but a string by its value, without the quotes, and
    /// NAME_CONST by its argument; and no more of any than an alias may have.
    fn item_name(&self, expr: &Expr, start: Token) -> String {
        let mut name = match expr {
            Expr::Literal(Literal::String { bytes, .. }) if start.kind == Kind::Text => {
                String::from_utf8_lossy(bytes).trim_start().to_string()
            }
            Expr::Function { name, args } if name.eq_ignore_ascii_case("name_const") => match args.first() {
                Some(Expr::Literal(Literal::String { bytes, .. })) => String::from_utf8_lossy(bytes).into_owned(),
                _ => self.text_since(start.start),
            },
            _ => self.text_since(start.start),
        };
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
        name
    }

    /// The hints behind the word that was taken last.
    pub(super) fn hints(&mut self) -> Vec<Hint> {
        let is_first = !std::mem::replace(&mut self.has_block, true);
        let (word, next) = (self.tokens[self.at.saturating_sub(1)], self.peek());
        if next.start <= word.end + 1 {
            return Vec::new();
        }
        let hints = hint::in_gap(&self.sql[word.end as usize..next.start as usize], self.mode);
        if is_first {
            self.variables.extend(hints.iter().filter_map(|hint| match &hint.kind {
                HintKind::SetVar { variable, value } => Some((variable.clone(), value.clone())),
                _ => None,
            }));
        }
        hints
    }

    /// Behind SELECT.
    fn select(&mut self) -> Result<Select> {
        let mut select = Select { hints: self.hints(), ..Select::default() };
        let mut all = false;
        while let Some(option) = self.take_any_word(&[
            "ALL",
            "DISTINCT",
            "DISTINCTROW",
            "HIGH_PRIORITY",
            "STRAIGHT_JOIN",
            "SQL_SMALL_RESULT",
            "SQL_BIG_RESULT",
            "SQL_BUFFER_RESULT",
            "SQL_NO_CACHE",
            "SQL_CACHE",
            "SQL_CALC_FOUND_ROWS",
        ]) {
            match option {
                "DISTINCT" | "DISTINCTROW" => select.distinct = true,
                "ALL" => all = true,
                "STRAIGHT_JOIN" => select.straight_join = true,
                "SQL_CALC_FOUND_ROWS" => select.calc_found_rows = true,
                _ => {}
            }
        }
        if all && select.distinct {
            return Err(Error::new(1221, b"HY000", "Incorrect usage of ALL and DISTINCT"));
        }
        select.items = self.list(Self::select_item)?;
        if self.is_word("INTO") {
            self.advance();
            self.into_found = Some(self.destination()?);
        }
        if self.take_word("FROM") && !self.take_word("DUAL") {
            select.from = self.list(Self::table_ref)?;
        }
        if self.take_word("WHERE") {
            select.filter = Some(self.expr()?);
        }
        if self.take_word("GROUP") {
            self.expect_word("BY")?;
            select.group_by = self.list(Self::order_item)?;
            select.rollup = self.take_words(&["WITH", "ROLLUP"]);
        }
        if self.take_word("HAVING") {
            select.having = Some(self.expr()?);
        }
        if self.take_word("WINDOW") {
            select.windows = self.named_windows()?;
        }
        Ok(select)
    }

    pub(super) fn select_item(&mut self) -> Result<SelectItem> {
        if self.take_symbol("*") {
            return Ok(SelectItem::All);
        }
        if self.is_name() && self.is_symbol_at(1, ".") {
            let dots = if self.is_symbol_at(3, ".") { 2 } else { 1 };
            if self.is_symbol_at(2 * dots, "*") {
                let first = self.name()?;
                self.advance();
                let table = match dots {
                    1 => TableName::new(first),
                    _ => {
                        let name = self.any_name()?;
                        self.advance();
                        TableName { database: Some(first), name }
                    }
                };
                self.advance();
                return Ok(SelectItem::AllOf(table));
            }
        }
        let start = self.peek();
        let expr = self.expr()?;
        let text = self.item_name(&expr, start);
        let alias = self.optional_alias()?;
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// `AS name`, `AS 'name'`, or the name alone.
    fn optional_alias(&mut self) -> Result<Option<String>> {
        if self.take_word("AS") || self.begins_alias() || self.peek().kind == Kind::Text {
            return Ok(Some(self.alias_or_text()?));
        }
        Ok(None)
    }

    /// Whether an alias without AS comes. RETURNING alone is the clause: the word is reserved in MariaDB, which has it.
    pub(super) fn begins_alias(&self) -> bool {
        self.is_name() && !self.is_word("RETURNING") && !self.is_offset_at(0)
    }

    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        self.expect_word("ORDER")?;
        self.expect_word("BY")?;
        self.list(Self::order_item)
    }

    pub(super) fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let descending = self.take_word("DESC");
        if !descending {
            self.take_word("ASC");
        }
        Ok(OrderItem { expr, descending })
    }

    /// LIMIT count, LIMIT offset, count, LIMIT count OFFSET offset.
    pub(super) fn limit(&mut self) -> Result<Limit> {
        self.expect_word("LIMIT")?;
        self.check_rows_examined()?;
        let first = self.limit_number()?;
        if self.take_symbol(",") {
            let limit = Limit { offset: Some(first), count: self.limit_number()? };
            self.check_rows_examined()?;
            return Ok(limit);
        }
        let offset = if self.take_word("OFFSET") { Some(self.limit_number()?) } else { None };
        self.check_rows_examined()?;
        Ok(Limit { offset, count: first })
    }

    /// MariaDB's ROWS EXAMINED ends a query where it stands.
    fn check_rows_examined(&self) -> Result<()> {
        match self.is_word("ROWS") && self.is_word_at(1, "EXAMINED") {
            true => Err(Error::unsupported("LIMIT ROWS EXAMINED")),
            false => Ok(()),
        }
    }

    /// `[OFFSET n ROWS] [FETCH FIRST [n] ROWS ONLY]`: LIMIT as the standard and MariaDB have it.
    fn is_fetch(&self) -> bool {
        self.is_word("FETCH") && (self.is_word_at(1, "FIRST") || self.is_word_at(1, "NEXT")) || self.is_offset_at(0)
    }

    /// OFFSET is a name, too, unless a number of rows follows it.
    pub(super) fn is_offset_at(&self, ahead: usize) -> bool {
        self.is_word_at(ahead, "OFFSET") && (self.is_word_at(ahead + 2, "ROW") || self.is_word_at(ahead + 2, "ROWS"))
    }

    fn fetch(&mut self) -> Result<Limit> {
        let mut limit = Limit { offset: None, count: Expr::Literal(Literal::Integer(u64::MAX)) };
        if self.take_word("OFFSET") {
            limit.offset = Some(self.limit_number()?);
            self.advance();
        }
        if !self.take_word("FETCH") {
            return Ok(limit);
        }
        if self.take_any_word(&["FIRST", "NEXT"]).is_none() {
            return Err(self.unexpected());
        }
        limit.count = match self.is_any_word(&["ROW", "ROWS"]) {
            true => Expr::Literal(Literal::Integer(1)),
            false => self.limit_number()?,
        };
        if self.take_any_word(&["ROW", "ROWS"]).is_none() {
            return Err(self.unexpected());
        }
        if self.take_words(&["WITH", "TIES"]) {
            return Err(Error::unsupported("FETCH ... WITH TIES"));
        }
        self.expect_word("ONLY")?;
        Ok(limit)
    }

    pub(super) fn limit_number(&mut self) -> Result<Expr> {
        if self.peek().kind == Kind::Parameter && self.program.is_none() {
            self.advance();
            self.parameters += 1;
            return Ok(Expr::Parameter(self.parameters - 1));
        }
        if let Some(variable) = self.variable_as_parameter()? {
            return Ok(variable);
        }
        Ok(Expr::Literal(Literal::Integer(self.integer()?)))
    }

    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE; behind the last, too, MariaDB's NOWAIT and SKIP LOCKED.
    fn row_lock(&mut self) -> Result<RowLock> {
        if self.take_word("LOCK") {
            for word in ["IN", "SHARE", "MODE"] {
                self.expect_word(word)?;
            }
            return Ok(RowLock { exclusive: false, of: Vec::new(), wait: self.lock_wait()? });
        }
        self.expect_word("FOR")?;
        let exclusive = self.take_word("UPDATE");
        if !exclusive {
            self.expect_word("SHARE")?;
        }
        let of = if self.take_word("OF") { self.list(Self::table_name)? } else { Vec::new() };
        Ok(RowLock { exclusive, of, wait: self.lock_wait()? })
    }

    fn lock_wait(&mut self) -> Result<LockWait> {
        if self.take_word("NOWAIT") {
            return Ok(LockWait::NoWait);
        }
        if self.take_word("SKIP") {
            self.expect_word("LOCKED")?;
            return Ok(LockWait::SkipLocked);
        }
        Ok(LockWait::Wait)
    }

    // ------------------------------------------------------------- tables

    /// One table of FROM, with the joins that follow it.
    pub(super) fn table_ref(&mut self) -> Result<TableRef> {
        Ok(self.joins()?.0)
    }

    /// A table and the joins that follow it, and how many of these lie on the left edge of the tree.
    ///
    /// A condition belongs to the nearest join that has none yet: `a JOIN b JOIN c ON x ON y` is
    /// `a JOIN (b JOIN c ON x) ON y`. A join that gets none becomes a cross join with the first table of its right
    /// side, so that `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`.
    fn joins(&mut self) -> Result<(TableRef, usize)> {
        self.nested(|parser| {
            let mut left = parser.table_factor()?;
            let mut edge = 0;
            while let Some((kind, natural)) = parser.join_operator()? {
                if parser.depth + edge >= super::DEPTH_MAX {
                    return Err(Error::nested_too_deep());
                }
                if natural {
                    let right = parser.table_factor()?;
                    left = joined(left, right, kind, JoinCondition::Natural);
                    edge += 1;
                    continue;
                }
                let (right, right_edge) = parser.joins()?;
                let condition = if parser.take_word("ON") {
                    JoinCondition::On(parser.expr()?)
                } else if parser.take_word("USING") {
                    JoinCondition::Using(parser.parenthesized_list(Self::name)?)
                } else if matches!(kind, JoinKind::Left | JoinKind::Right) {
                    return Err(parser.unexpected());
                } else {
                    left = cross_joined(left, right, right_edge, kind);
                    edge += right_edge + 1;
                    continue;
                };
                left = joined(left, right, kind, condition);
                edge += 1;
            }
            Ok((left, edge))
        })
    }

    /// The operator that joins another table, if one follows. The second: NATURAL.
    fn join_operator(&mut self) -> Result<Option<(JoinKind, bool)>> {
        if self.take_word("STRAIGHT_JOIN") {
            return Ok(Some((JoinKind::Straight, false)));
        }
        let natural = self.take_word("NATURAL");
        let kind = match self.take_any_word(&["INNER", "CROSS", "LEFT", "RIGHT"]) {
            Some(side @ ("LEFT" | "RIGHT")) => {
                self.take_word("OUTER");
                if side == "LEFT" { JoinKind::Left } else { JoinKind::Right }
            }
            Some(_) => JoinKind::Inner,
            None if natural || self.is_word("JOIN") => JoinKind::Inner,
            None => return Ok(None),
        };
        self.expect_word("JOIN")?;
        Ok(Some((kind, natural)))
    }

    fn table_factor(&mut self) -> Result<TableRef> {
        if self.take_symbol("{") {
            self.expect_word("OJ")?;
            let table = self.table_ref()?;
            self.expect_symbol("}")?;
            return Ok(table);
        }
        let lateral = self.take_word("LATERAL");
        if self.is_symbol("(") {
            // Where a table stands VALUES is no function.
            let is_values = self.is_word_at(1, "VALUES") && self.is_symbol_at(2, "(");
            if is_values || self.is_nested_query() {
                let query = Box::new(self.parenthesized_query()?);
                self.take_word("AS");
                if !self.is_name() {
                    return Err(Error::new(1248, b"42000", "Every derived table must have its own alias"));
                }
                let alias = self.name()?;
                let columns = if self.is_symbol("(") { self.parenthesized_list(Self::name)? } else { Vec::new() };
                return Ok(TableRef::Derived { query, alias, columns, lateral });
            }
            return self.parenthesized_tables();
        }
        if self.is_word("JSON_TABLE") {
            self.advance();
            return self.json_table();
        }
        let name = self.table_name()?;
        let partitions = self.partition_selection()?;
        if self.take_word("AS") {
            let alias = Some(self.alias_or_text()?);
            return Ok(TableRef::Table { name, partitions, alias, hints: self.index_hints()? });
        }
        let alias = if self.begins_alias() { Some(self.alias()?) } else { None };
        Ok(TableRef::Table { name, partitions, alias, hints: self.index_hints()? })
    }

    /// `(a, b JOIN c)`: commas are inner joins here.
    fn parenthesized_tables(&mut self) -> Result<TableRef> {
        self.expect_symbol("(")?;
        let mut tables = self.list(Self::table_ref)?;
        self.expect_symbol(")")?;
        if tables.len() > super::DEPTH_MAX - self.depth {
            return Err(Error::nested_too_deep());
        }
        let first = tables.remove(0);
        Ok(tables.into_iter().fold(first, |left, right| TableRef::Join {
            left: Box::new(left),
            right: Box::new(right),
            kind: JoinKind::Inner,
            condition: JoinCondition::None,
        }))
    }

    fn index_hints(&mut self) -> Result<Vec<IndexHint>> {
        let mut hints = Vec::new();
        loop {
            let kind = if self.is_word("USE") {
                IndexHintKind::Use
            } else if self.is_word("FORCE") {
                IndexHintKind::Force
            } else if self.is_word("IGNORE") {
                IndexHintKind::Ignore
            } else {
                return Ok(hints);
            };
            if !self.is_word_at(1, "INDEX") && !self.is_word_at(1, "KEY") {
                return Ok(hints);
            }
            self.at += 2;
            let purpose = if self.take_word("FOR") {
                if self.take_word("JOIN") {
                    IndexHintPurpose::Join
                } else if self.take_words(&["ORDER", "BY"]) {
                    IndexHintPurpose::OrderBy
                } else if self.take_words(&["GROUP", "BY"]) {
                    IndexHintPurpose::GroupBy
                } else {
                    return Err(self.unexpected());
                }
            } else {
                IndexHintPurpose::Any
            };
            self.expect_symbol("(")?;
            let mut indexes = Vec::new();
            // Only USE INDEX can name none.
            if kind != IndexHintKind::Use || !self.is_symbol(")") {
                indexes =
                    self.list(
                        |parser| {
                            if parser.take_word("PRIMARY") { Ok("PRIMARY".to_string()) } else { parser.name() }
                        },
                    )?;
            }
            self.expect_symbol(")")?;
            let other = match kind {
                IndexHintKind::Use => Some(IndexHintKind::Force),
                IndexHintKind::Force => Some(IndexHintKind::Use),
                IndexHintKind::Ignore => None,
            };
            if hints.iter().any(|hint: &IndexHint| Some(hint.kind) == other) {
                return Err(Error::wrong_usage("USE INDEX", "FORCE INDEX"));
            }
            hints.push(IndexHint { kind, purpose, indexes });
        }
    }
}

fn joined(left: TableRef, right: TableRef, kind: JoinKind, condition: JoinCondition) -> TableRef {
    TableRef::Join { left: Box::new(left), right: Box::new(right), kind, condition }
}

/// `left` joined with the first table of `right`, which lies `edge` joins down its left edge.
fn cross_joined(left: TableRef, right: TableRef, edge: usize, join: JoinKind) -> TableRef {
    match right {
        TableRef::Join { left: first, right, kind, condition } if edge > 0 => {
            joined(cross_joined(left, *first, edge - 1, join), *right, kind, condition)
        }
        right => joined(left, right, join, JoinCondition::None),
    }
}
