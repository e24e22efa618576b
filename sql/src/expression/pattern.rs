//! (signatures first)
use std::sync::Arc;
/// A regular expression compiled when the plan was made, or when first used.
#[derive(Debug, Clone, Default)]
pub struct Regex {
    pub compiled: Option<Arc<regex::bytes::Regex>>,
}
