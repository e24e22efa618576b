//! Stored programs.

use super::Error;

impl Error {
    pub fn program_exists(kind: &str, name: &str) -> Error {
        Error::new(1304, b"42000", format!("{kind} {name} already exists"))
    }

    pub fn no_such_program(kind: &str, name: &str) -> Error {
        Error::new(1305, b"42000", format!("{kind} {name} does not exist"))
    }

    pub fn nested_create(kind: &str) -> Error {
        Error::new(1303, b"2F003", format!("Can't create a {kind} from within another stored routine"))
    }

    pub fn no_matching_label(word: &str, label: &str) -> Error {
        Error::new(1308, b"42000", format!("{word} with no matching label: {label}"))
    }

    pub fn label_redefined(label: &str) -> Error {
        Error::new(1309, b"42000", format!("Redefining label {label}"))
    }

    pub fn end_label_mismatch(label: &str) -> Error {
        Error::new(1310, b"42000", format!("End-label {label} without match"))
    }

    pub fn no_result_in_context(name: &str) -> Error {
        Error::new(1312, b"0A000", format!("PROCEDURE {name} can't return a result set in the given context"))
    }

    pub fn return_outside() -> Error {
        Error::new(1313, b"42000", "RETURN is only allowed in a FUNCTION")
    }

    pub fn not_in_procedures(what: &str) -> Error {
        Error::new(1314, b"0A000", format!("{what} is not allowed in stored procedures"))
    }

    pub fn program_argument_count(kind: &str, name: &str, wanted: usize, given: usize) -> Error {
        let text = format!("Incorrect number of arguments for {kind} {name}; expected {wanted}, got {given}");
        Error::new(1318, b"42000", text)
    }

    pub fn undefined_condition(name: &str) -> Error {
        Error::new(1319, b"42000", format!("Undefined CONDITION: {name}"))
    }

    pub fn no_return(name: &str) -> Error {
        Error::new(1320, b"42000", format!("No RETURN found in FUNCTION {name}"))
    }

    pub fn ended_without_return(name: &str) -> Error {
        Error::new(1321, b"2F005", format!("FUNCTION {name} ended without RETURN"))
    }

    pub fn cursor_without_select() -> Error {
        Error::new(1322, b"42000", "Cursor statement must be a SELECT")
    }

    pub fn cursor_into() -> Error {
        Error::new(1323, b"42000", "Cursor SELECT must not have INTO")
    }

    pub fn undefined_cursor(name: &str) -> Error {
        Error::new(1324, b"42000", format!("Undefined CURSOR: {name}"))
    }

    pub fn cursor_is_open() -> Error {
        Error::new(1325, b"24000", "Cursor is already open")
    }

    pub fn cursor_not_open() -> Error {
        Error::new(1326, b"24000", "Cursor is not open")
    }

    pub fn undeclared_variable(name: &str) -> Error {
        Error::new(1327, b"42000", format!("Undeclared variable: {name}"))
    }

    pub fn wrong_fetch_count() -> Error {
        Error::new(1328, b"HY000", "Incorrect number of FETCH variables")
    }

    pub fn no_data() -> Error {
        Error::new(1329, b"02000", "No data - zero rows fetched, selected, or processed")
    }

    pub fn duplicate_parameter(name: &str) -> Error {
        Error::new(1330, b"42000", format!("Duplicate parameter: {name}"))
    }

    pub fn duplicate_variable(name: &str) -> Error {
        Error::new(1331, b"42000", format!("Duplicate variable: {name}"))
    }

    pub fn duplicate_condition(name: &str) -> Error {
        Error::new(1332, b"42000", format!("Duplicate condition: {name}"))
    }

    pub fn duplicate_cursor(name: &str) -> Error {
        Error::new(1333, b"42000", format!("Duplicate cursor: {name}"))
    }

    pub fn not_in_function(what: &str) -> Error {
        Error::new(1336, b"0A000", format!("{what} is not allowed in stored function or trigger"))
    }

    pub fn variable_after_cursor() -> Error {
        Error::new(1337, b"42000", "Variable or condition declaration after cursor or handler declaration")
    }

    pub fn cursor_after_handler() -> Error {
        Error::new(1338, b"42000", "Cursor declaration after handler declaration")
    }

    pub fn case_not_found() -> Error {
        Error::new(1339, b"20000", "Case not found for CASE statement")
    }

    pub fn nested_drop(kind: &str) -> Error {
        Error::new(1357, b"HY000", format!("Can't drop or alter a {kind} from within another stored routine"))
    }

    pub fn trigger_exists() -> Error {
        Error::new(1359, b"HY000", "Trigger already exists")
    }

    pub fn no_such_trigger() -> Error {
        Error::new(1360, b"HY000", "Trigger does not exist")
    }

    pub fn trigger_on_view(name: &str) -> Error {
        Error::new(1361, b"HY000", format!("'{name}' is view or temporary table"))
    }

    pub fn row_not_updatable(row: &str, when: &str) -> Error {
        Error::new(1362, b"HY000", format!("Updating of {row} row is not allowed in {when}trigger"))
    }

    pub fn no_such_row(row: &str, event: &str) -> Error {
        Error::new(1363, b"HY000", format!("There is no {row} row in on {event} trigger"))
    }

    pub fn routine_access_denied(command: &str, user: &str, host: &str, name: &str) -> Error {
        Error::new(1370, b"42000", format!("{command} command denied to user '{user}'@'{host}' for routine '{name}'"))
    }

    pub fn bad_sqlstate(state: &str) -> Error {
        Error::new(1407, b"42000", format!("Bad SQLSTATE: '{state}'"))
    }

    pub fn duplicate_handler() -> Error {
        Error::new(1413, b"42000", "Duplicate handler declared in the same block")
    }

    pub fn out_argument(number: usize, name: &str) -> Error {
        let text = format!(
            "OUT or INOUT argument {number} for routine {name} is not a variable or NEW pseudo-variable in BEFORE trigger"
        );
        Error::new(1414, b"42000", text)
    }

    pub fn unsafe_function() -> Error {
        let text = "This function has none of DETERMINISTIC, NO SQL, or READS SQL DATA in its declaration and binary logging is enabled (you *might* want to use the less safe log_bin_trust_function_creators variable)";
        Error::new(1418, b"HY000", text)
    }

    pub fn creator_needs_super() -> Error {
        let text = "You do not have the SUPER privilege and binary logging is enabled (you *might* want to use the less safe log_bin_trust_function_creators variable)";
        Error::new(1419, b"HY000", text)
    }

    pub fn commit_in_function() -> Error {
        Error::new(1422, b"HY000", "Explicit or implicit commit is not allowed in stored function or trigger.")
    }

    pub fn recursive_function() -> Error {
        Error::new(1424, b"HY000", "Recursive stored functions and triggers are not allowed.")
    }

    pub fn autocommit_in_function() -> Error {
        Error::new(1445, b"HY000", "Not allowed to set autocommit from a stored function or trigger")
    }

    pub fn trigger_in_wrong_schema() -> Error {
        Error::new(1435, b"HY000", "Trigger in wrong schema")
    }

    pub fn programs_nested_too_deep() -> Error {
        let text = "Thread stack overrun:  stored programs call each other too deeply.  Use 'mysqld --thread_stack=#' to specify a bigger stack.";
        Error::new(1436, b"HY000", text)
    }

    pub fn cannot_reopen_table(name: &str) -> Error {
        Error::new(1137, b"HY000", format!("Can't reopen table: '{name}'"))
    }

    pub fn table_in_use(name: &str) -> Error {
        let text = format!(
            "Can't update table '{name}' in stored function/trigger because it is already used by statement which invoked this stored function/trigger."
        );
        Error::new(1442, b"HY000", text)
    }

    pub fn recursion_limit(limit: u64, name: &str) -> Error {
        let text = format!(
            "Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine {name}"
        );
        Error::new(1456, b"HY000", text)
    }

    pub fn duplicate_condition_item(name: &str) -> Error {
        Error::new(1641, b"42000", format!("Duplicate condition information item '{name}'"))
    }

    pub fn signal_needs_sqlstate() -> Error {
        Error::new(1646, b"0K000", "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE")
    }

    pub fn resignal_outside() -> Error {
        Error::new(1645, b"0K000", "RESIGNAL when handler not active")
    }

    pub fn stacked_outside() -> Error {
        Error::new(1887, b"0Z002", "GET STACKED DIAGNOSTICS when handler not active")
    }

    pub fn invalid_condition_number() -> Error {
        Error::new(1758, b"35000", "Invalid condition number")
    }

    pub fn incorrect_condition_value(what: &str, value: &str) -> Error {
        Error::new(1525, b"HY000", format!("Incorrect {what} value: '{value}'"))
    }

    pub fn no_such_trigger_for_order(name: &str) -> Error {
        let text = format!("Referenced trigger '{name}' for the given action time and event type does not exist.");
        Error::new(3011, b"HY000", text)
    }

    /// `from` is FUNCTION or TRIGGER.
    pub fn no_result_from(from: &str) -> Error {
        Error::new(1415, b"0A000", format!("Not allowed to return a result set from a {}", from.to_lowercase()))
    }
}
