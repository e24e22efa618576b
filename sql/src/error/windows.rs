//! Window functions, and sums over groups.

use super::Error;

impl Error {
    pub fn no_such_window(name: &str) -> Error {
        Error::new(3579, b"HY000", format!("Window name '{name}' is not defined."))
    }

    pub fn circular_windows() -> Error {
        Error::new(3580, b"HY000", "There is a circularity in the window dependency graph.")
    }

    pub fn window_no_child_partitioning() -> Error {
        Error::new(3581, b"HY000", "A window which depends on another cannot define partitioning.")
    }

    pub fn window_no_inherit_frame(name: &str) -> Error {
        let text = format!("Window '{name}' has a frame definition, so cannot be referenced by another window.");
        Error::new(3582, b"HY000", text)
    }

    pub fn window_no_redefine_order(name: &str, base: &str) -> Error {
        let text = format!("Window '{name}' cannot inherit '{base}' since both contain an ORDER BY clause.");
        Error::new(3583, b"HY000", text)
    }

    pub fn window_frame_start(name: &str) -> Error {
        Error::new(3584, b"HY000", format!("Window '{name}': frame start cannot be UNBOUNDED FOLLOWING."))
    }

    pub fn window_frame_end(name: &str) -> Error {
        Error::new(3585, b"HY000", format!("Window '{name}': frame end cannot be UNBOUNDED PRECEDING."))
    }

    pub fn window_frame_illegal(name: &str) -> Error {
        let text = format!("Window '{name}': frame start or end is negative, NULL or of non-integral type");
        Error::new(3586, b"HY000", text)
    }

    pub fn window_range_order(name: &str) -> Error {
        let text = format!(
            "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of \
             numeric or temporal type"
        );
        Error::new(3587, b"HY000", text)
    }

    pub fn window_range_temporal(name: &str) -> Error {
        let text = format!(
            "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value \
             allowed."
        );
        Error::new(3588, b"HY000", text)
    }

    pub fn window_range_numeric(name: &str) -> Error {
        let text = format!(
            "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not \
             allowed."
        );
        Error::new(3589, b"HY000", text)
    }

    pub fn window_bound_not_constant(name: &str) -> Error {
        Error::new(3590, b"HY000", format!("Window '{name}' has a non-constant frame bound."))
    }

    pub fn window_defined_twice(name: &str) -> Error {
        Error::new(3591, b"HY000", format!("Window '{name}' is defined twice."))
    }

    pub fn window_position(name: &str) -> Error {
        let text = format!(
            "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use \
             expression."
        );
        Error::new(3592, b"HY000", text)
    }

    pub fn misplaced_window_function(name: &str) -> Error {
        Error::new(3593, b"HY000", format!("You cannot use the window function '{name}' in this context.'"))
    }

    pub fn misplaced_window_alias(name: &str) -> Error {
        let text = format!(
            "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
        );
        Error::new(3594, b"HY000", text)
    }

    pub fn nested_window_function(name: &str) -> Error {
        let text = format!("You cannot nest a window function in the specification of window '{name}'.");
        Error::new(3595, b"HY000", text)
    }

    pub fn grouping_of_no_key(argument: usize) -> Error {
        Error::new(3602, b"HY000", format!("Argument #{argument} of GROUPING function is not in GROUP BY"))
    }

    pub fn window_rows_interval(name: &str) -> Error {
        Error::new(3596, b"HY000", format!("Window '{name}': INTERVAL can only be used with RANGE frames."))
    }
}
