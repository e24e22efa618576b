//! Statements that manage a replica, and what they show.

use std::sync::Arc;

use format::binlog::GtidSet;
use format::value::{DateTime, Value, Zone};

use super::Session;
use crate::error::{Error, Result};
use crate::parser::ast::{FilterKind, Statement, Until};
use crate::replication::{LastError, ReplicaStatus, Replication};
use crate::show::{Listing, text_column, unsigned_column};

impl Session {
    fn replication(&self) -> Result<Arc<dyn Replication>> {
        self.instance.replication().ok_or_else(|| Error::unsupported("replication by this program"))
    }

    /// CHANGE REPLICATION SOURCE TO and FILTER, START, STOP and RESET REPLICA.
    pub(super) fn control_replica(&mut self, statement: &Statement) -> Result<()> {
        self.commit()?;
        let mut notices = Vec::new();
        match statement {
            Statement::ChangeSource { options, channel } => {
                self.replication()?.change_source(channel.as_deref(), options)?
            }
            Statement::ChangeFilter { changes, channel } => {
                self.replication()?.change_filters(channel.as_deref(), changes)?
            }
            Statement::StartReplica { start, channel } => {
                notices = self.replication()?.start(channel.as_deref(), start)?
            }
            Statement::StopReplica { threads, channel } => {
                notices = self.replication()?.stop(channel.as_deref(), *threads)?
            }
            Statement::ResetReplica { all, channel } => self.replication()?.reset(channel.as_deref(), *all)?,
            _ => return Err(Error::internal("no statement about a replica")),
        }
        for notice in notices {
            self.warnings.note(notice.code, notice.message);
        }
        Ok(())
    }

    /// SHOW REPLICA STATUS, SHOW SLAVE STATUS.
    pub(super) fn show_replica_status(&self, old_names: bool, channel: Option<&str>) -> Result<Listing> {
        let known = self.replication()?.status(channel)?;
        // MariaDB's columns, only where its GTIDs are used.
        let has_use_gtid = known.iter().any(|status| status.use_gtid.is_some());
        let facts = |status: &ReplicaStatus| facts(status, old_names, has_use_gtid);
        let first = known.first().map_or_else(|| facts(&ReplicaStatus::default()), facts);
        let column = |(name, value): &(&str, Value)| {
            let name = if old_names { old_name(name) } else { (*name).to_owned() };
            match value {
                Value::UInt(_) => unsigned_column(&name),
                _ => text_column(&name),
            }
        };
        let columns = first.iter().map(column).collect();
        let row = |status: &ReplicaStatus| facts(status).into_iter().map(|(_, value)| value).collect();
        Ok(Listing { columns, rows: known.iter().map(row).collect() })
    }
}

/// The name of a column before MySQL 8.0.22.
fn old_name(name: &str) -> String {
    match name {
        "Replica_SQL_Running_State" => "Slave_SQL_Running_State".to_owned(),
        "Get_Source_public_key" => "Get_master_public_key".to_owned(),
        "Source_public_key_path" => "Master_public_key_path".to_owned(),
        name => name.replace("Source", "Master").replace("Replica", "Slave"),
    }
}

/// All columns in MySQL's order, and their values.
fn facts(status: &ReplicaStatus, old_names: bool, has_use_gtid: bool) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    let yes = |yes: bool| text(if yes { "Yes" } else { "No" });
    let or_null = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
    let set = |set: &GtidSet| text(&set.to_string());
    let moment = |error: &LastError| match error.code {
        0 => text(""),
        _ => {
            let moment = DateTime::from_unix_micros(error.at_micros as i64, Zone::UTC).unwrap_or(DateTime::ZERO);
            let (date, time) = (moment.date, (moment.hour, moment.minute, moment.second));
            let day = format!("{:02}{:02}{:02}", date.year % 100, date.month, date.day);
            text(&format!("{day} {:02}:{:02}:{:02}", time.0, time.1, time.2))
        }
    };
    let filter = |kind: FilterKind| {
        let filter = status.filters.iter().find(|filter| filter.kind == kind);
        text(filter.map_or("", |filter| &filter.rules))
    };
    let (until, until_file, until_position) = match &status.until {
        None => ("None", "", 0),
        Some(Until::SourcePosition { file, position }) => {
            (if old_names { "Master" } else { "Source" }, &file[..], *position)
        }
        Some(Until::RelayPosition { file, position }) => ("Relay", &file[..], *position),
        Some(Until::BeforeGtids(_)) => ("SQL_BEFORE_GTIDS", "", 0),
        Some(Until::AfterGtids(_)) => ("SQL_AFTER_GTIDS", "", 0),
        Some(Until::AfterGaps) => ("SQL_AFTER_MTS_GAPS", "", 0),
    };
    let ignored: Vec<String> = status.ignored_servers.iter().map(u32::to_string).collect();
    let mut facts = vec![
        ("Replica_IO_State", text(&status.receiver_state)),
        ("Source_Host", text(&status.host)),
        ("Source_User", text(&status.user)),
        ("Source_Port", Value::UInt(status.port.into())),
        ("Connect_Retry", Value::UInt(status.connect_retry)),
        ("Source_Log_File", text(&status.read_file)),
        ("Read_Source_Log_Pos", Value::UInt(status.read_position)),
        ("Relay_Log_File", text(&status.relay_file)),
        ("Relay_Log_Pos", Value::UInt(status.relay_position)),
        ("Relay_Source_Log_File", text(&status.applied_file)),
        ("Replica_IO_Running", text(status.receiving.name())),
        ("Replica_SQL_Running", yes(status.is_applying)),
        ("Replicate_Do_DB", filter(FilterKind::DoDb)),
        ("Replicate_Ignore_DB", filter(FilterKind::IgnoreDb)),
        ("Replicate_Do_Table", filter(FilterKind::DoTable)),
        ("Replicate_Ignore_Table", filter(FilterKind::IgnoreTable)),
        ("Replicate_Wild_Do_Table", filter(FilterKind::WildDoTable)),
        ("Replicate_Wild_Ignore_Table", filter(FilterKind::WildIgnoreTable)),
        ("Last_Errno", Value::UInt(status.applier_error.code.into())),
        ("Last_Error", text(&status.applier_error.message)),
        ("Skip_Counter", Value::UInt(0)),
        ("Exec_Source_Log_Pos", Value::UInt(status.applied_position)),
        ("Relay_Log_Space", Value::UInt(status.relay_bytes)),
        ("Until_Condition", text(until)),
        ("Until_Log_File", text(until_file)),
        ("Until_Log_Pos", Value::UInt(until_position)),
        ("Source_SSL_Allowed", yes(status.is_encrypted)),
        ("Source_SSL_CA_File", text(&status.tls.ca)),
        ("Source_SSL_CA_Path", text(&status.tls.ca_directory)),
        ("Source_SSL_Cert", text(&status.tls.certificate)),
        ("Source_SSL_Cipher", text(&status.tls.ciphers)),
        ("Source_SSL_Key", text(&status.tls.key)),
        ("Seconds_Behind_Source", or_null(status.seconds_behind)),
        ("Source_SSL_Verify_Server_Cert", yes(status.is_verified)),
        ("Last_IO_Errno", Value::UInt(status.receiver_error.code.into())),
        ("Last_IO_Error", text(&status.receiver_error.message)),
        ("Last_SQL_Errno", Value::UInt(status.applier_error.code.into())),
        ("Last_SQL_Error", text(&status.applier_error.message)),
        ("Replicate_Ignore_Server_Ids", text(&ignored.join(","))),
        ("Source_Server_Id", Value::UInt(status.source_id.into())),
        ("Source_UUID", text(&status.source_uuid.map(|uuid| uuid.to_string()).unwrap_or_default())),
        ("Source_Info_File", text("mysql.slave_master_info")),
        ("SQL_Delay", Value::UInt(status.delay)),
        ("SQL_Remaining_Delay", or_null(status.remaining_delay)),
        ("Replica_SQL_Running_State", text(&status.applier_state)),
        ("Source_Retry_Count", Value::UInt(status.retry_count)),
        ("Source_Bind", text("")),
        ("Last_IO_Error_Timestamp", moment(&status.receiver_error)),
        ("Last_SQL_Error_Timestamp", moment(&status.applier_error)),
        ("Source_SSL_Crl", text(&status.tls.revoked)),
        ("Source_SSL_Crlpath", text(&status.tls.revoked_directory)),
        ("Retrieved_Gtid_Set", set(&status.retrieved)),
        ("Executed_Gtid_Set", set(&status.executed)),
        ("Auto_Position", Value::UInt(status.auto_position.into())),
        ("Replicate_Rewrite_DB", filter(FilterKind::RewriteDb)),
        ("Channel_Name", text(&status.channel)),
        ("Source_TLS_Version", text(&status.tls.versions)),
        ("Source_public_key_path", text(&status.public_key_path)),
        ("Get_Source_public_key", Value::UInt(status.get_public_key.into())),
        ("Network_Namespace", text("")),
    ];
    if has_use_gtid {
        let use_gtid = status.use_gtid.unwrap_or("No");
        facts.extend([("Using_Gtid", text(use_gtid)), ("Gtid_IO_Pos", text(&status.received_mariadb))]);
    }
    facts
}
