//! `/metrics`: the status under the names of Prometheus' mysqld_exporter, so that dashboards and alerts made for it work,
//! and what only Glassine has under `glassine_`.

use std::fmt::{Display, Write};

use super::facts::{FORMS, Facts, Followed, Stored};

/// The text format, version 0.0.4.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Collects lines; those of a metric stand together.
#[derive(Default)]
struct Page {
    out: String,
    /// The metric whose lines come last.
    current: String,
}

impl Page {
    fn line(&mut self, name: &str, kind: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        if self.current != name {
            let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            name.clone_into(&mut self.current);
        }
        self.out.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.out, "{}{label}=\"{text}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.out, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

pub fn page(facts: &Facts, stored: &[Stored]) -> String {
    let mut page = Page::default();
    page.line("mysql_up", "gauge", "Whether the MySQL server is up.", &[], 1);
    let versions = ["innodb_version", "version", "version_comment"].map(|name| (name, facts.variable(name)));
    page.line("mysql_version_info", "gauge", "MySQL version and distribution.", &versions, 1);
    let mut status: Vec<Named> = facts.status.iter().filter_map(|(name, text)| named(name, number(text)?)).collect();
    // The lines of a metric have to stand together.
    status.sort_by(|one, other| one.metric.cmp(&other.metric));
    for Named { metric, kind, help, label, value } in &status {
        let label = label.as_ref().map(|(name, text)| (*name, text.as_str()));
        page.line(metric, kind, help, label.as_slice(), value);
    }
    for (name, text) in &facts.variables {
        if let Some(value) = number(text) {
            let metric = format!("mysql_global_variables_{name}");
            page.line(&metric, "gauge", "Generic gauge metric from SHOW GLOBAL VARIABLES.", &[], value);
        }
    }
    for replica in &facts.replicas {
        follow(replica, &mut page);
    }
    own(facts, stored, &mut page);
    page.out
}

/// A status variable under the exporter's name.
struct Named {
    metric: String,
    kind: &'static str,
    help: &'static str,
    label: Option<(&'static str, String)>,
    value: f64,
}

/// `None` = the exporter leaves it out.
fn named(name: &str, value: f64) -> Option<Named> {
    const COUNTERS: [(&str, &str, &str, &str); 4] = [
        ("com_", "commands_total", "command", "Total number of executed MySQL commands."),
        ("handler_", "handlers_total", "handler", "Total number of executed MySQL handlers."),
        ("connection_errors_", "connection_errors_total", "error", "Total number of MySQL connection errors."),
        ("innodb_rows_", "innodb_row_ops_total", "operation", "Total number of MySQL InnoDB row operations."),
    ];
    const PAGES: &str = "innodb_buffer_pool_pages_";
    let lower = name.to_ascii_lowercase();
    let (kind, metric, help, label) = if let Some((prefix, metric, label, help)) =
        COUNTERS.iter().find(|(prefix, ..)| lower.starts_with(prefix)).copied()
    {
        ("counter", metric, help, Some((label, lower[prefix.len()..].to_owned())))
    } else if let Some(pages) = lower.strip_prefix(PAGES) {
        match pages {
            // It is the sum of the others.
            "total" => return None,
            "dirty" => ("gauge", "buffer_pool_dirty_pages", "Innodb buffer pool dirty pages.", None),
            "data" | "free" | "misc" | "old" => {
                ("gauge", "buffer_pool_pages", "Innodb buffer pool pages by state.", Some(("state", pages.to_owned())))
            }
            _ => {
                let help = "Innodb buffer pool page state changes.";
                ("counter", "buffer_pool_page_changes_total", help, Some(("operation", pages.to_owned())))
            }
        }
    } else {
        ("untyped", lower.as_str(), "Generic metric from SHOW GLOBAL STATUS.", None)
    };
    Some(Named { metric: format!("mysql_global_status_{metric}"), kind, help, label, value })
}

/// The value of a variable that is a number or a switch.
fn number(text: &str) -> Option<f64> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "YES" => Some(1.0),
        "OFF" | "NO" | "DISABLED" => Some(0.0),
        _ => text.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

fn follow(replica: &Followed, page: &mut Page) {
    let uuid = replica.source_uuid.as_deref().unwrap_or("");
    let labels = [
        ("channel_name", replica.channel.as_str()),
        ("connection_name", ""),
        ("master_host", replica.host.as_str()),
        ("master_uuid", uuid),
    ];
    let help = "Generic metric from SHOW SLAVE STATUS.";
    let mut line = |name: &str, value: u64| {
        page.line(&format!("mysql_slave_status_{name}"), "untyped", help, &labels, value);
    };
    line("slave_io_running", u64::from(replica.receives));
    line("slave_sql_running", u64::from(replica.applies));
    line("read_master_log_pos", replica.read_position);
    line("exec_master_log_pos", replica.applied_position);
    line("relay_log_space", replica.relay_bytes);
    if let Some(seconds) = replica.seconds_behind {
        line("seconds_behind_master", seconds);
    }
}

fn own(facts: &Facts, stored: &[Stored], page: &mut Page) {
    let sum = |value: fn(&Stored) -> u64| stored.iter().map(value).sum::<u64>();
    page.line("glassine_tablespaces", "gauge", "Files of tables and of the system.", &[], stored.len());
    let help = "Bytes of all pages that have been written, before they are compressed.";
    page.line("glassine_logical_bytes", "gauge", help, &[], sum(|space| space.logical_bytes));
    let help = "Bytes that all files occupy on the device.";
    page.line("glassine_allocated_bytes", "gauge", help, &[], sum(|space| space.allocated_bytes));
    let help = "Bytes that the known pages need, exactly and not in blocks.";
    page.line("glassine_exact_bytes", "gauge", help, &[], sum(|space| space.exact_bytes));
    for (at, form) in FORMS.iter().enumerate() {
        let pages: u64 = stored.iter().map(|space| space.pages[at]).sum();
        page.line("glassine_pages", "gauge", "Pages by the form they are stored in.", &[("form", form)], pages);
    }
    for cleaner in &facts.cleaners {
        for (phase, microseconds) in &cleaner.phases {
            let labels = [("cleaner", &*cleaner.number.to_string()), ("phase", *phase)];
            let help = "Time that page cleaners have spent.";
            let seconds = *microseconds as f64 / 1e6;
            page.line("glassine_cleaner_seconds_total", "counter", help, &labels, seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_variables_have_the_names_of_the_exporter() {
        for (name, metric, label) in [
            ("Com_select", "mysql_global_status_commands_total", Some(("command", "select"))),
            ("Handler_read_rnd_next", "mysql_global_status_handlers_total", Some(("handler", "read_rnd_next"))),
            ("Innodb_rows_read", "mysql_global_status_innodb_row_ops_total", Some(("operation", "read"))),
            ("Innodb_buffer_pool_pages_data", "mysql_global_status_buffer_pool_pages", Some(("state", "data"))),
            ("Innodb_buffer_pool_pages_dirty", "mysql_global_status_buffer_pool_dirty_pages", None),
            (
                "Innodb_buffer_pool_pages_flushed",
                "mysql_global_status_buffer_pool_page_changes_total",
                Some(("operation", "flushed")),
            ),
            ("Threads_running", "mysql_global_status_threads_running", None),
        ] {
            let named = named(name, 7.0).unwrap();
            let known = named.label.as_ref().map(|(key, text)| (*key, text.as_str()));
            assert_eq!((named.metric.as_str(), known, named.value), (metric, label, 7.0), "{name}");
        }
        assert!(named("Innodb_buffer_pool_pages_total", 1.0).is_none());
        assert_eq!(
            ["ON", "no", "12", "1.5", "nan", "text", ""].map(number),
            [Some(1.0), Some(0.0), Some(12.0), Some(1.5), None, None, None]
        );
    }

    #[test]
    fn labels_are_escaped_and_a_metric_is_described_once() {
        let mut page = Page::default();
        page.line("m", "gauge", "Help.", &[("a", "\"\\\n")], 1);
        page.line("m", "gauge", "Help.", &[("a", "b"), ("c", "d")], 2);
        assert_eq!(page.out, "# HELP m Help.\n# TYPE m gauge\nm{a=\"\\\"\\\\\\n\"} 1\nm{a=\"b\",c=\"d\"} 2\n");
    }
}
