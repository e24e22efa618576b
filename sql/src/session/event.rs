//! CREATE EVENT, ALTER EVENT, DROP EVENT, and what the scheduler does with an event.
//!
//! The times of a schedule are computed when it is said, in the session's time zone, which the event remembers. The log
//! has the statement with these times. On a replica an event of the source is SLAVESIDE_DISABLED: its rows come from there.
//!
//! ```text
//!   begin_event   the event has run: durable before it runs, so that a crash does not let it run twice
//!   run_event     in a session of its own, as its definer
//!   end_event     one that does not run again is dropped, unless it is to be preserved
//! ```

use std::sync::Arc;

use format::collation::collation;
use format::value::{IntervalUnit, Value};
use storage::{Definition, DefinitionKind};

use super::{Session, program};
use crate::accounts::{Key, Privileges};
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::parser::ast::{self, AlterEvent, CreateEvent, EventStatus, ScheduleSpec, SetItem, TableName};
use crate::programs::schedule::{Schedule, step_of, whole_seconds};
use crate::programs::{Event, Origin};

const KIND: DefinitionKind = DefinitionKind::Event;
const SECOND_US: u64 = 1_000_000;

/// An event that runs now.
pub struct EventRun {
    pub definition: Arc<Definition>,
    pub event: Event,
    /// It does not run again.
    pub is_last: bool,
}

fn definition_of(database: &str, event: &Event) -> Definition {
    Definition {
        kind: KIND,
        database: database.into(),
        name: event.name.to_lowercase().into(),
        table: "".into(),
        bytes: event.encode(),
    }
}

impl Session {
    fn now_us(&self) -> u64 {
        let (seconds, micros) = self.state.timestamp.get().unwrap_or_else(super::clock);
        seconds.max(0) as u64 * SECOND_US + u64::from(micros)
    }

    /// A moment of a schedule.
    fn event_moment(&mut self, expr: &ast::Expr, what: &str) -> Result<u64> {
        let seconds = ast::Expr::Function { name: "unix_timestamp".to_owned(), args: vec![expr.clone()] };
        let us = match self.evaluate(&seconds)?.0 {
            Value::Int(seconds) => seconds.max(0) as u64 * SECOND_US,
            Value::UInt(seconds) => seconds * SECOND_US,
            Value::Decimal(seconds) => seconds.to_f64().max(0.0) as u64 * SECOND_US,
            _ => 0,
        };
        if us > 0 {
            return Ok(us);
        }
        let (value, ty) = self.evaluate(expr)?;
        let shown = match value {
            Value::Null => "NULL".to_owned(),
            value => String::from_utf8_lossy(&Datum::from(value).into_text(&ty)).into_owned(),
        };
        Err(Error::new(1525, b"HY000", format!("Incorrect {what} value: '{shown}'")))
    }

    fn event_schedule(&mut self, spec: &ScheduleSpec) -> Result<Schedule> {
        let (amount, unit, starts, ends) = match spec {
            ScheduleSpec::At(at) => return Ok(Schedule::At(self.event_moment(at, "AT")?)),
            ScheduleSpec::Every { amount, unit, starts, ends } => (amount, *unit, starts, ends),
        };
        if unit == IntervalUnit::Microsecond || unit.has_micros() {
            return Err(Error::unsupported("MICROSECOND"));
        }
        let (value, ty) = self.evaluate(amount)?;
        if value == Value::Null {
            return Err(Error::event_step());
        }
        let text = Datum::from(value).into_text(&ty).into_owned();
        let mut amount = String::from_utf8_lossy(&text).trim().to_owned();
        if !unit.name().contains('_') {
            // A single number is a whole one.
            amount = format!("{}", amount.parse::<f64>().unwrap_or(0.0).round() as i64);
        }
        step_of(&amount, unit).ok_or_else(Error::event_step)?;
        let starts_us = match starts {
            Some(starts) => self.event_moment(starts, "STARTS")?,
            None => whole_seconds(self.now_us()),
        };
        let ends_us = ends.as_ref().map(|ends| self.event_moment(ends, "ENDS")).transpose();
        let ends_us = ends_us.map_err(|_| Error::event_ends_before_starts())?;
        if ends_us.is_some_and(|ends| ends <= starts_us) {
            return Err(Error::event_ends_before_starts());
        }
        Ok(Schedule::Every { amount, unit, starts_us, ends_us })
    }

    /// Whether the session applies what another server has done.
    fn event_origin(&self) -> Option<u64> {
        let own = self.instance.variables.number("server_id");
        self.origin().map(|origin| u64::from(origin.server_id)).filter(|id| *id != own)
    }

    fn event_status(&self, said: EventStatus) -> EventStatus {
        match said {
            EventStatus::Enabled if self.event_origin().is_some() => EventStatus::DisabledOnReplica,
            said => said,
        }
    }

    pub(super) fn check_event(&self, name: &TableName, definer: Option<&ast::UserName>) -> Result<()> {
        let database = database_of(name, self.state.database.as_deref())?;
        self.rights.need_database(Privileges::EVENT, database)?;
        self.check_definer_named(definer)
    }

    pub(super) fn create_event(&mut self, create: &CreateEvent) -> Result<()> {
        let (database, collation) = self.program_database(&create.name)?;
        let name = &create.name.name;
        if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
            return Err(Error::new(1458, b"42000", format!("Incorrect event name '{name}'")));
        }
        program::check_types(&create.program, None, collation)?;
        let schedule = self.event_schedule(&create.schedule)?;
        let definer = self.program_definer(create.definer.as_ref());
        self.check_definer(&definer)?;
        let own_id = self.instance.variables.number("server_id");
        let mut event = Event {
            name: name.clone(),
            schedule,
            time_zone: self.statement_facts().time_zone.into_owned(),
            preserve: create.preserve,
            status: create.status,
            comment: create.comment.clone(),
            body: self.program_text(&create.body_text),
            originator: self.event_origin().unwrap_or(own_id),
            executed_us: 0,
            origin: self.program_origin(definer, collation),
        };
        // What has been logged has passed this on the source.
        let is_past =
            self.applying.is_none() && event.schedule.end_us().is_some_and(|end| end < whole_seconds(self.now_us()));
        if is_past && event.preserve {
            event.status = EventStatus::Disabled;
        }
        let shown = self.logged_name(&database, name);
        let shown = if create.if_not_exists { format!("IF NOT EXISTS {shown}") } else { shown };
        let zone = self.variables.settings.system_zone;
        let verb = if create.or_replace { "CREATE OR REPLACE" } else { "CREATE" };
        let wait = self.program_wait(&event.statement(verb, &shown, "", zone))?;
        event.status = self.event_status(event.status);
        let key = name.to_lowercase();
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(KIND, &database, &key)], &[], &wait).or_sql()?;
        if locked.find(KIND, &database, &key).is_some() && !create.or_replace {
            let error = Error::event_exists(name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            return Ok(());
        }
        if is_past {
            let told = if event.preserve { Error::event_is_past() } else { Error::event_created_in_the_past() };
            self.warnings.note(told.code, told.message);
            if !event.preserve {
                return Ok(());
            }
        }
        locked.define(definition_of(&database, &event), create.or_replace).map_err(|error| match error {
            storage::Error::Exists(_) => Error::event_exists(name),
            other => storage_error(other),
        })?;
        drop(locked);
        self.instance.events.ring();
        Ok(())
    }

    pub(super) fn alter_event(&mut self, alter: &AlterEvent) -> Result<()> {
        let (database, collation) = self.program_database(&alter.name)?;
        let name = &alter.name.name;
        let key = name.to_lowercase();
        let to = match &alter.rename {
            Some(to) => Some((self.program_database(to)?.0, to.name.clone())),
            None => None,
        };
        if let Some((to_database, to_name)) = &to
            && (to_database, to_name.to_lowercase()) == (&database, key.clone())
        {
            return Err(Error::same_event_name());
        }
        if let Some((program, _)) = &alter.body {
            program::check_types(program, None, collation)?;
        }
        let schedule = alter.schedule.as_ref().map(|spec| self.event_schedule(spec)).transpose()?;
        let definer = self.program_definer(alter.definer.as_ref());
        self.check_definer(&definer)?;
        let new_place = to.as_ref().map(|(database, name)| (database.clone(), name.to_lowercase()));
        let mut names = vec![(KIND, &*database, &*key)];
        names.extend(new_place.as_ref().map(|(database, name)| (KIND, &**database, &**name)));
        // The names first: the log has what the event becomes.
        let engine = self.instance.engine.clone();
        let locking = storage::TrxOptions { log: None, ..self.program_wait("")? };
        let locked = engine.lock_names_of(&names, &[], &locking).or_sql()?;
        let found = locked.find(KIND, &database, &key).ok_or_else(|| Error::no_such_event(name))?;
        if let Some((to_database, to_name)) = &new_place
            && locked.find(KIND, to_database, to_name).is_some()
        {
            return Err(Error::event_exists(to.as_ref().map_or("", |(_, name)| name)));
        }
        drop(locked);
        let mut event = Event::decode(&found.bytes)?;
        let origin = self.program_origin(definer, collation);
        let is_new_schedule = schedule.is_some();
        if let Some(schedule) = schedule {
            event.schedule = schedule;
            event.time_zone = self.statement_facts().time_zone.into_owned();
            event.executed_us = 0;
        }
        event.preserve = alter.preserve.unwrap_or(event.preserve);
        event.status = alter.status.unwrap_or(event.status);
        event.comment = alter.comment.clone().unwrap_or(event.comment);
        let created_us = event.origin.created_us;
        event.origin = match &alter.body {
            // A body is read as it was when it was written.
            None => Origin { definer: origin.definer, altered_us: origin.altered_us, ..event.origin },
            Some((_, text)) => {
                event.body = self.program_text(text);
                Origin { created_us, ..origin }
            }
        };
        event.originator = self.event_origin().unwrap_or_else(|| self.instance.variables.number("server_id"));
        let is_past = event.schedule.end_us().is_some_and(|end| end < whole_seconds(self.now_us()));
        if is_new_schedule && self.applying.is_none() && is_past {
            if !event.preserve {
                return Err(Error::event_altered_into_the_past());
            }
            event.status = EventStatus::Disabled;
            let told = Error::event_is_past();
            self.warnings.note(told.code, told.message);
        }
        let (home, shown) = (to.as_ref().map_or(&database, |(to, _)| to).clone(), self.logged_name(&database, name));
        let rename = to.as_ref().map_or(String::new(), |(to_database, to_name)| {
            format!(" RENAME TO {}", self.logged_name(to_database, to_name))
        });
        let zone = self.variables.settings.system_zone;
        let wait = self.program_wait(&event.statement("ALTER", &shown, &rename, zone))?;
        event.status = self.event_status(event.status);
        if let Some((_, name)) = to {
            event.name = name;
        }
        let locked = engine.lock_names_of(&names, &[], &wait).or_sql()?;
        match locked.find(KIND, &database, &key) {
            Some(now) if Arc::ptr_eq(&now, &found) => {}
            // It has just begun to run, which changes nothing that is said here.
            Some(now) => {
                if !is_new_schedule {
                    event.executed_us = Event::decode(&now.bytes)?.executed_us;
                }
            }
            None => return Err(Error::no_such_event(name)),
        }
        locked.change(&[(KIND, &database, &key)], vec![definition_of(&home, &event)]).map_err(|error| match error {
            storage::Error::Exists(_) => Error::event_exists(&event.name),
            other => storage_error(other),
        })?;
        drop(locked);
        self.instance.events.ring();
        Ok(())
    }

    pub(super) fn drop_event(&mut self, name: &TableName, if_exists: bool) -> Result<()> {
        let database = self.program_database(name)?.0;
        let key = name.name.to_lowercase();
        let exists = if if_exists { "IF EXISTS " } else { "" };
        let text = format!("DROP EVENT {exists}{}", self.logged_name(&database, &name.name));
        let wait = self.program_wait(&text)?;
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(KIND, &database, &key)], &[], &wait).or_sql()?;
        if locked.find(KIND, &database, &key).is_none() {
            if !if_exists {
                return Err(Error::no_such_event(&name.name));
            }
            let told = Error::no_such_program("EVENT", &name.name);
            self.warnings.note(told.code, told.message);
            return Ok(());
        }
        locked.drop_all(&[(KIND, &database, &key)]).or_sql()
    }

    // ----------------------------------------------------------------- what the scheduler does

    /// What the scheduler keeps of an event, it keeps in a READ ONLY database, too.
    fn scheduler_wait(&self, wait: storage::TrxOptions) -> storage::TrxOptions {
        storage::TrxOptions { changes_read_only: true, ..wait }
    }

    /// The event begins to run now, if `at_us` is still its next moment. That is kept before it runs.
    pub fn begin_event(&mut self, database: &str, key: &str, at_us: u64, now_us: u64) -> Result<Option<EventRun>> {
        let wait = self.scheduler_wait(self.trx_options());
        let engine = self.instance.engine.clone();
        let entered = self.enter_change()?;
        let begun = (|| {
            let locked = engine.lock_names_of(&[(KIND, database, key)], &[], &wait).or_sql()?;
            let Some(found) = locked.find(KIND, database, key) else { return Ok(None) };
            let mut event = Event::decode(&found.bytes)?;
            let zone = self.variables.settings.system_zone;
            if event.status != EventStatus::Enabled || event.next_us(at_us, zone) != Some(at_us) {
                return Ok(None);
            }
            event.executed_us = now_us;
            let is_last = event.next_us(now_us, zone).is_none();
            if is_last && event.preserve {
                event.status = EventStatus::Disabled;
            }
            let definition = definition_of(database, &event);
            locked.define(definition.clone(), true).or_sql()?;
            Ok(Some(EventRun { definition: Arc::new(definition), event, is_last }))
        })();
        self.leave_change(entered);
        begun
    }

    /// Runs the body as the definer of the event.
    pub fn run_event(&mut self, run: &EventRun) -> Result<()> {
        let definer: &Key = &run.event.origin.definer;
        let account = self.instance.accounts.snapshot().get(definer).cloned();
        let account = account.ok_or_else(|| Error::no_such_definer(&definer.0, &definer.1))?;
        self.log_in(&definer.0, &account, &[&definer.1]);
        // A password is for those who come in.
        self.is_expired = false;
        self.refresh_rights();
        self.rights.need_database(Privileges::EVENT, &run.definition.database)?;
        let text = |name: &str, value: &str| {
            let value = ast::Expr::Literal(ast::Literal::String { bytes: value.as_bytes().to_vec(), charset: None });
            SetItem::System { scope: None, name: name.to_owned(), value }
        };
        let origin = &run.event.origin;
        self.begin_statement();
        self.set(&[
            text("time_zone", &run.event.time_zone),
            text("character_set_client", collation(origin.client).charset.name()),
            text("collation_connection", collation(origin.connection).name),
        ])?;
        self.init_db(&run.definition.database)?;
        let ran = self.run_program(&run.definition);
        // What it has not committed is undone.
        let undone = self.rollback();
        ran.and(undone)
    }

    /// An event that has come to its end without a run goes, or is disabled.
    pub fn expire_event(&mut self, database: &str, key: &str, now_us: u64) -> Result<()> {
        let Some(found) = self.instance.engine.definition(KIND, database, key) else { return Ok(()) };
        let event = Event::decode(&found.bytes)?;
        let zone = self.variables.settings.system_zone;
        if event.status != EventStatus::Enabled || event.next_us(now_us, zone).is_some() {
            return Ok(());
        }
        if !event.preserve {
            return self.end_event(&EventRun { definition: found, event, is_last: true });
        }
        let wait = self.scheduler_wait(self.trx_options());
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(KIND, database, key)], &[], &wait).or_sql()?;
        match locked.find(KIND, database, key) {
            Some(now) if Arc::ptr_eq(&now, &found) => {
                locked.define(definition_of(database, &Event { status: EventStatus::Disabled, ..event }), true).or_sql()
            }
            _ => Ok(()),
        }
    }

    /// An event that has run for the last time goes, unless it is to be preserved or is another one now.
    pub fn end_event(&mut self, run: &EventRun) -> Result<()> {
        if !run.is_last || run.event.preserve {
            return Ok(());
        }
        let (database, key) = (&*run.definition.database, &*run.definition.name);
        let text = format!("DROP EVENT IF EXISTS {}", self.logged_name(database, &run.event.name));
        let wait = self.scheduler_wait(self.program_wait(&text)?);
        let engine = self.instance.engine.clone();
        let entered = self.enter_change()?;
        let ended = engine.lock_names_of(&[(KIND, database, key)], &[], &wait).or_sql().and_then(|locked| match locked
            .find(KIND, database, key)
        {
            Some(found) if found.bytes == run.definition.bytes => locked.drop_all(&[(KIND, database, key)]).or_sql(),
            _ => Ok(()),
        });
        self.leave_change(entered);
        ended?;
        self.write_log()
    }
}
