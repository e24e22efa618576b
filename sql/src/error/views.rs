//! Views.

use super::Error;

impl Error {
    /// 1347; `kind` is VIEW or BASE TABLE.
    pub fn wrong_object(database: &str, name: &str, kind: &str) -> Error {
        Error::new(1347, b"HY000", format!("'{database}.{name}' is not {kind}"))
    }

    pub fn view_no_explain() -> Error {
        Error::new(1345, b"HY000", "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table")
    }

    pub fn view_select_clause(clause: &str) -> Error {
        Error::new(1350, b"HY000", format!("View's SELECT contains a '{clause}' clause"))
    }

    pub fn view_select_variable() -> Error {
        Error::new(1351, b"HY000", "View's SELECT contains a variable or parameter")
    }

    pub fn view_of_temporary_table(name: &str) -> Error {
        Error::new(1352, b"HY000", format!("View's SELECT refers to a temporary table '{name}'"))
    }

    pub fn view_cannot_merge() -> Error {
        Error::new(1354, b"HY000", "View merge algorithm can't be used here for now (assumed undefined algorithm)")
    }

    pub fn view_invalid(database: &str, name: &str) -> Error {
        let text = format!(
            "View '{database}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of \
             view lack rights to use them"
        );
        Error::new(1356, b"HY000", text)
    }

    pub fn view_recursive(database: &str, name: &str) -> Error {
        Error::new(1462, b"HY000", format!("`{database}`.`{name}` contains view recursion"))
    }

    pub fn view_not_updatable_check(database: &str, name: &str) -> Error {
        Error::new(1368, b"HY000", format!("CHECK OPTION on non-updatable view '{database}.{name}'"))
    }

    pub fn view_check_failed(database: &str, name: &str) -> Error {
        Error::new(1369, b"HY000", format!("CHECK OPTION failed '{database}.{name}'"))
    }

    /// `statement`: UPDATE, DELETE, LOAD.
    pub fn target_not_updatable(alias: &str, statement: &str) -> Error {
        Error::new(1288, b"HY000", format!("The target table {alias} of the {statement} is not updatable"))
    }

    /// `statement`: UPDATE, DELETE, INSERT.
    pub fn view_prevents(view: &str, statement: &str, target: &str) -> Error {
        let text = format!("The definition of table '{view}' prevents operation {statement} on table '{target}'.");
        Error::new(1443, b"HY000", text)
    }

    pub fn view_of_many(database: &str, name: &str) -> Error {
        let text = format!("Can not modify more than one base table through a join view '{database}.{name}'");
        Error::new(1393, b"HY000", text)
    }

    pub fn view_without_fields(database: &str, name: &str) -> Error {
        Error::new(1394, b"HY000", format!("Can not insert into join view '{database}.{name}' without fields list"))
    }

    pub fn view_delete_join(database: &str, name: &str) -> Error {
        Error::new(1395, b"HY000", format!("Can not delete from join view '{database}.{name}'"))
    }

    pub fn target_not_insertable(alias: &str) -> Error {
        Error::new(1471, b"HY000", format!("The target table {alias} of the INSERT is not insertable-into"))
    }

    pub fn column_not_updatable(name: &str) -> Error {
        Error::new(1348, b"HY000", format!("Column '{name}' is not updatable"))
    }

    pub fn no_default_for_view_field(database: &str, name: &str) -> Error {
        let text = format!("Field of view '{database}.{name}' underlying table doesn't have a default value");
        Error::new(1423, b"HY000", text)
    }

    pub fn no_such_definer(user: &str, host: &str) -> Error {
        Error::new(1449, b"HY000", format!("The user specified as a definer ('{user}'@'{host}') does not exist"))
    }

    pub fn rename_across_databases() -> Error {
        Error::new(1450, b"HY000", "Changing schema from one to another is not allowed for a view")
    }

    pub fn no_tables_used() -> Error {
        Error::new(1096, b"HY000", "No tables used")
    }
}
