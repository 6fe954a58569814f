//! What is said of XML.

use toolstub_detect::xml::Xml;

use crate::draft::{Draft, Items, Line, name};

pub(crate) fn draft(xml: &Xml) -> Draft {
    let root = name(&xml.root);
    let child = |(tag, count): &(String, u64)| -> Line { format!("{}: {count}", name(tag)).into() };
    Draft {
        title: "XML document".to_owned(),
        summary: vec![format!("root element: {root}").into()],
        structure: vec![
            format!("root: {root}").into(),
            format!("attributes: {}", xml.attributes).into(),
        ],
        parts: Items::new(xml.children.iter().map(child).collect(), xml.child_tags.at_least),
        ..Draft::default()
    }
}
