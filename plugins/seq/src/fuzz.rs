//! What has to hold for any text at all; for the fuzzers and for the random tests here.

#![expect(clippy::panic, reason = "a panic is what a fuzzer finds")]

use serde::Serialize;
use serde_json::Value;

use crate::{condition::Condition, document, problem::Problem, reference::Template, tools_string};

/// A `tools` string is items or flaws; items read again are the same items.
pub fn tools_string(text: &str) {
    let (items, flaws) = tools_string::read(text);
    for flaw in &flaws {
        assert!(
            flaw.offset <= text.len() && !flaw.hint.is_empty(),
            "{flaw:?}"
        );
    }
    if !flaws.is_empty() {
        return;
    }
    assert!(!items.is_empty(), "nothing was read, and nothing was said");
    let members: Vec<_> = items.into_iter().map(|item| item.members).collect();
    let again = tools_string::write(members.clone());
    let (read, flaws) = tools_string::read(&again);
    assert!(flaws.is_empty(), "{again}: {flaws:?}");
    let read: Vec<_> = read.into_iter().map(|item| item.members).collect();
    assert!(alike(&read, &members), "{again}");
}

/// A condition is parsed or refused; parsed, it is written as one that means the same.
pub fn condition(text: &str) {
    match Condition::parse(text) {
        Ok(condition) => {
            let Ok(again) = Condition::parse(&condition.write()) else {
                panic!("{} is refused", condition.write());
            };
            assert!(alike(&again, &condition), "{again:?}");
            let _ = condition.holds(&serde_json::Map::new());
        }
        Err(error) => assert!(
            error.offset <= text.len() && !error.hint.is_empty(),
            "{error:?}"
        ),
    }
}

/// A document is groups or problems; groups written are read as the same groups.
pub fn document(text: &str) {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    let Some(read) = document::Document::read(text, &mut problems) else {
        assert!(!problems.is_empty(), "refused without a reason");
        return;
    };
    let drafts = document::groups(&read.groups, &mut problems, &mut warnings);
    if !problems.is_empty() {
        assert!(
            problems
                .iter()
                .all(|Problem { message, .. }| !message.is_empty())
        );
        return;
    }
    let groups: Vec<_> = drafts.into_iter().map(|draft| draft.group).collect();
    let Ok(name) = crate::name::Name::parse("fuzz") else {
        panic!("a good name is refused");
    };
    let sequence = crate::sequence::Sequence {
        name,
        description: String::new(),
        groups,
        inputs: crate::kind::Slots::default(),
    };
    let written = sequence.document();
    let again = document::groups(
        written.get("groups").unwrap_or(&written),
        &mut problems,
        &mut warnings,
    );
    assert!(problems.is_empty(), "{written}: {problems:?}");
    let again: Vec<_> = again.into_iter().map(|draft| draft.group).collect();
    assert!(alike(&again, &sequence.groups), "{written}");
    let Ok(stored) = serde_json::to_string(&sequence) else {
        panic!("a sequence cannot be stored");
    };
    let stored: Result<crate::sequence::Sequence, _> = serde_json::from_str(&stored);
    assert!(
        stored.is_ok_and(|stored| alike(&stored, &sequence)),
        "{written}"
    );
}

/// A text with references is parsed or refused; parsed, it is written as the same.
pub fn template(text: &str) {
    let value = serde_json::Value::from(text);
    match Template::parse(&value) {
        Ok(template) => assert_eq!(Template::parse(&template.write()), Ok(template)),
        Err(error) => assert!(!error.hint.is_empty()),
    }
}

/// The same, but for the last digits of a float: the reader of JSON is exact to about 15.
fn alike(left: &impl Serialize, right: &impl Serialize) -> bool {
    match (serde_json::to_value(left), serde_json::to_value(right)) {
        (Ok(left), Ok(right)) => same(&left, &right),
        _ => false,
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(l), Value::Number(r)) if l.is_f64() && r.is_f64() => {
            let (l, r) = (l.as_f64().unwrap_or(0.0), r.as_f64().unwrap_or(0.0));
            (l - r).abs() <= l.abs() * 1e-12
        }
        (Value::Array(l), Value::Array(r)) => {
            l.len() == r.len() && l.iter().zip(r).all(|(l, r)| same(l, r))
        }
        (Value::Object(l), Value::Object(r)) => {
            l.len() == r.len()
                && l.iter()
                    .all(|(key, l)| r.get(key).is_some_and(|r| same(l, r)))
        }
        _ => left == right,
    }
}
