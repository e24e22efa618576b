//! Events.

use super::Error;

impl Error {
    pub fn event_exists(name: &str) -> Error {
        Error::new(1537, b"HY000", format!("Event '{name}' already exists"))
    }

    pub fn no_such_event(name: &str) -> Error {
        Error::new(1539, b"HY000", format!("Unknown event '{name}'"))
    }

    pub fn event_step() -> Error {
        Error::new(1542, b"HY000", "INTERVAL is either not positive or too big")
    }

    pub fn event_ends_before_starts() -> Error {
        Error::new(1543, b"HY000", "ENDS is either invalid or before STARTS")
    }

    /// A note: the event was created, but will not run.
    pub fn event_is_past() -> Error {
        Error::new(1544, b"HY000", "Event execution time is in the past. Event has been disabled")
    }

    pub fn same_event_name() -> Error {
        Error::new(1551, b"HY000", "Same old and new event name")
    }

    pub fn nested_event() -> Error {
        Error::new(1576, b"HY000", "Recursion of EVENT DDL statements is forbidden when body is present")
    }

    /// A note: the event was not created.
    pub fn event_created_in_the_past() -> Error {
        let text = "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. \
                    The event was dropped immediately after creation.";
        Error::new(1588, b"HY000", text)
    }

    pub fn event_altered_into_the_past() -> Error {
        let text = "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. \
                    The event was not changed. Specify a time in the future.";
        Error::new(1589, b"HY000", text)
    }

    pub fn events_are_disabled() -> Error {
        let text = "The MySQL server is running with the --event-scheduler=DISABLED or --skip-grant-tables option so it \
                    cannot execute this statement";
        Error::new(1290, b"HY000", text)
    }
}
