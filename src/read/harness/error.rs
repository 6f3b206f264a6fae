//! Why a record is no bundle.

/// Why a record is no bundle. Nothing was placed and no session changed.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The text is not JSON.
    #[error("the record is no JSON: {0}; expected one object")]
    Json(#[source] serde_json::Error),
    /// A value that the rules depend on is missing or of another type.
    #[error("`{field}` is {found}; expected {expected}")]
    Shape {
        /// Where it stands.
        field: String,
        /// What stands there.
        found: &'static str,
        /// What should.
        expected: &'static str,
    },
}
