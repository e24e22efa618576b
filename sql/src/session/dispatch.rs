//! Which statement does what: one arm for each kind.

use super::admin::text_type;
use super::{Done, Session};
use crate::catalog::storage_error;
use crate::components;
use crate::ddl;
use crate::error::{Error, Result};
use crate::parser::ast::{AccountStatement, Purge, Show, Statement, Xa};
use crate::result::ResultSink;
use crate::status::Counter;

impl Session {
    /// Runs a statement of any kind without parameters.
    pub(super) fn dispatch(&mut self, statement: &Statement, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let diagnostic = matches!(
            statement,
            Statement::Show(Show::Warnings { .. } | Show::Errors { .. })
                | Statement::GetDiagnostics(_)
                | Statement::Signal(_)
        );
        if !diagnostic {
            self.begin_statement();
        }
        if !matches!(statement, Statement::Commit { .. } | Statement::Rollback { .. } | Statement::Binlog(_)) {
            self.check_not_creating()?;
        }
        self.enter_statement(|| changes_password(statement))?;
        self.check_privileges(statement)?;
        let done = match statement {
            Statement::Update(_) if let Some(done) = self.set_up(statement, &[])? => done,
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::JoinedUpdate(_)
            | Statement::JoinedDelete(_)
            | Statement::Load(_) => {
                if self.plan_and_run(statement, 0, &[], more, sink)?.is_none() {
                    return Err(Error::internal("a query without a plan"));
                }
                return match self.state.error_count.get() {
                    0 => Ok(()),
                    _ => Err(Error::new(0, b"00000", "")),
                };
            }
            Statement::Begin { read_only, consistent_snapshot } => {
                self.status.add(Counter::ComBegin, 1);
                self.begin(*read_only, *consistent_snapshot)?;
                Done::default()
            }
            Statement::Commit { chain, release } => {
                self.status.add(Counter::ComCommit, 1);
                let next = self.next_of(*chain, *release);
                self.commit()?;
                self.end_named(true)?;
                self.go_on(next)?;
                Done::default()
            }
            Statement::Rollback { chain, release } => {
                self.status.add(Counter::ComRollback, 1);
                let next = self.next_of(*chain, *release);
                self.rollback()?;
                self.go_on(next)?;
                Done::default()
            }
            Statement::Savepoint(name) => {
                self.savepoint(name)?;
                Done::default()
            }
            Statement::RollbackTo(name) => {
                self.rollback_to(name)?;
                Done::default()
            }
            Statement::ReleaseSavepoint(name) => {
                self.release_savepoint(name)?;
                Done::default()
            }
            Statement::Xa(Xa::Recover(shape)) => return self.xa_recover(shape, more, sink),
            Statement::Xa(statement) => {
                self.xa(statement)?;
                Done::default()
            }
            Statement::LockTables(tables) => {
                self.lock_tables(tables)?;
                Done::default()
            }
            Statement::UnlockTables => {
                self.unlock_tables()?;
                Done::default()
            }
            Statement::LockInstance => {
                self.lock_instance()?;
                Done::default()
            }
            Statement::UnlockInstance => {
                self.unlock_instance();
                Done::default()
            }
            Statement::BackupStage(stage) => {
                self.set_backup_stage(*stage)?;
                Done::default()
            }
            Statement::CloneLocal(directory) => self.clone_local(directory)?,
            Statement::BackupServer(Some(file)) => self.backup_to_file(file)?,
            Statement::BackupServer(None) => return self.backup_to_client(more, sink),
            Statement::Set(items) => {
                self.status.add(Counter::ComSetOption, 1);
                self.set(items)?;
                Done::default()
            }
            Statement::SetStatement { variables, statement, text, by_hint } => {
                return self.with_variables(variables, *by_hint, |session| {
                    if !session.source.is_empty() {
                        session.remember_source(text.as_bytes());
                    }
                    session.dispatch(statement, more, sink)
                });
            }
            Statement::SetTransaction { scope, isolation, read_only } => {
                self.set_transaction(*scope, *isolation, *read_only)?;
                Done::default()
            }
            Statement::Use(name) => {
                self.status.add(Counter::ComChangeDb, 1);
                self.init_db(name)?;
                Done::default()
            }
            Statement::Do(exprs) => {
                self.run_do(exprs)?;
                Done::default()
            }
            Statement::Show(show) => return self.show(show, more, sink),
            Statement::Describe { table, column } => return self.describe(table, column.as_deref(), more, sink),
            Statement::Explain { format, analyze, statement } => {
                self.status.add(Counter::ComExplain, 1);
                return self.explain(format.as_deref(), *analyze, statement, more, sink);
            }
            Statement::ExplainConnection { format, id } => {
                self.status.add(Counter::ComExplain, 1);
                return self.explain_connection(format.as_deref(), *id, more, sink);
            }
            Statement::Kill { query_only, id } => {
                self.kill(*query_only, id)?;
                Done::default()
            }
            Statement::RotateMasterKey => {
                self.commit()?;
                self.instance.engine.rotate_master_key().map_err(storage_error)?;
                Done::default()
            }
            Statement::ReloadTls { even_without } => {
                if let Some(transport) = self.instance.transport() {
                    let notices = transport.reload(*even_without)?;
                    self.notice(notices);
                }
                Done::default()
            }
            Statement::EncryptSystem(encrypted) => {
                self.check_writable()?;
                self.commit()?;
                self.instance.engine.set_system_encrypted(*encrypted).map_err(storage_error)?;
                Done::default()
            }
            Statement::Flush { items, .. } => {
                self.flush(items)?;
                Done::default()
            }
            Statement::Call(call) => return self.call(call, &[], more, sink),
            Statement::Block(text) => return self.run_block(text, more, sink),
            Statement::Signal(signal) => {
                self.signal(signal)?;
                Done::default()
            }
            Statement::GetDiagnostics(get) => {
                self.get_diagnostics(get)?;
                Done::default()
            }
            Statement::Prepare { name, source } => {
                self.prepare_named(name, source)?;
                Done { info: "Statement prepared".to_owned(), ..Done::default() }
            }
            Statement::Execute { name, using } => return self.execute_named(name, using, more, sink),
            Statement::ExecuteImmediate { source, using } => {
                return self.execute_immediate(source, using, more, sink);
            }
            Statement::Deallocate(name) => {
                let id = self
                    .named
                    .remove(&name.to_lowercase())
                    .ok_or_else(|| Error::unknown_prepared(name, "DEALLOCATE PREPARE"))?;
                self.close_statement(id);
                Done::default()
            }
            Statement::Account(statement) => {
                self.check_writable()?;
                let made = self.change_accounts(statement)?;
                if !made.is_empty() {
                    self.send_passwords(&made, more, sink);
                    return Ok(());
                }
                Done::default()
            }
            Statement::SetRole(choice) => {
                self.set_role(choice)?;
                Done::default()
            }
            Statement::Unsupported(what) => return Err(Error::unsupported(what)),
            Statement::Components { install, urns } => {
                components::check(*install, urns)?;
                Done::default()
            }
            Statement::Help => {
                // MySQL's answer where its tables of help are empty.
                let columns = [("name".to_owned(), text_type(64)), ("is_it_category".to_owned(), text_type(1))];
                self.send(&columns, &[], self.warning_count(), more, sink);
                return Ok(());
            }
            Statement::ResetPersist { name, if_exists } => {
                self.reset_persist(name.as_deref(), *if_exists)?;
                Done::default()
            }
            Statement::Binlog(parts) => {
                self.status.add(Counter::ComBinlog, 1);
                self.replay(parts)?;
                Done::default()
            }
            Statement::PurgeLogs(purge) => {
                let before = matches!(purge, Purge::Before(_));
                self.status.add(if before { Counter::ComPurgeBefore } else { Counter::ComPurge }, 1);
                self.purge_logs(purge)?;
                Done::default()
            }
            Statement::ChangeSource { .. }
            | Statement::ChangeFilter { .. }
            | Statement::StartReplica { .. }
            | Statement::StopReplica { .. }
            | Statement::ResetReplica { .. } => {
                let counter = match statement {
                    Statement::ChangeSource { .. } => Counter::ComChangeMaster,
                    Statement::ChangeFilter { .. } => Counter::ComChangeReplFilter,
                    Statement::StartReplica { .. } => Counter::ComReplicaStart,
                    Statement::StopReplica { .. } => Counter::ComReplicaStop,
                    _ => Counter::ComReset,
                };
                self.status.add(counter, 1);
                self.control_replica(statement)?;
                Done::default()
            }
            Statement::Reset(what) if matches!(what.as_str(), "MASTER" | "BINARY LOGS AND GTIDS") => {
                self.status.add(Counter::ComReset, 1);
                self.reset_logs()?;
                Done::default()
            }
            Statement::Reset(what) => return Err(Error::unsupported(format!("RESET {what}"))),
            Statement::Shutdown => {
                self.wants_shutdown = true;
                Done::default()
            }
            _ if ddl::takes(statement) => return self.define(statement, more, sink),
            _ => return Err(Error::unsupported("this statement")),
        };
        self.finish(&done, more, sink);
        Ok(())
    }
}

/// Whether a statement may be run while the password has expired: it changes the password, or is one that clients send
/// before they let anybody do so.
pub(super) fn changes_password(statement: &Statement) -> bool {
    match statement {
        Statement::Account(statement) => {
            matches!(**statement, AccountStatement::AlterUser { .. } | AccountStatement::SetPassword { .. })
        }
        Statement::Set(_) | Statement::Show(Show::Warnings { .. } | Show::Errors { .. }) => true,
        _ => false,
    }
}
