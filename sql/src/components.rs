//! MySQL's components: what of them there is is part of the server, so that nothing is loaded and nothing goes away.

use crate::error::{Error, Result};

/// The components whose functions the server has. Attributes of queries are read by `mysql_query_attribute_string`.
pub const BUILT_IN: &[&str] = &["file://component_query_attributes"];

/// INSTALL COMPONENT, UNINSTALL COMPONENT: programs that install a component which is there, or remove it at their end, go
/// on.
pub fn check(install: bool, urns: &[String]) -> Result<()> {
    for urn in urns {
        if !urn.starts_with("file://") {
            return Err(Error::new(3527, b"HY000", format!("Cannot find schema in specified URN: '{urn}'.")));
        }
        if BUILT_IN.contains(&urn.as_str()) {
            continue;
        }
        return Err(match install {
            true => Error::new(3529, b"HY000", format!("Cannot load component from specified URN: '{urn}'.")),
            false => {
                let text = format!("Component specified by URN '{urn}' to unload has not been loaded before.");
                Error::new(3537, b"HY000", text)
            }
        });
    }
    Ok(())
}
