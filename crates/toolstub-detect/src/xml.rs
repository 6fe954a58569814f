//! XML: one well-formed document.

use crate::census::Census;
use crate::distinct::Count;
use crate::media_type::MediaType;

/// The evidence of XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xml {
    /// The root element's name as written.
    pub root: String,
    /// The root's attributes, namespace declarations not counted.
    pub attributes: u64,
    /// The root's most frequent child tags (at most 30), ties in document order.
    pub children: Vec<(String, u64)>,
    /// How many different child tags the root has.
    pub child_tags: Count,
}

pub(crate) fn scan(_content: &[u8], _census: &Census, _declared: MediaType) -> Option<Xml> {
    None
}
