//! For a name that a schema does not know: the names that it does, and the nearest.

use serde_json::Value;

use super::{
    keywords::{self, Place},
    pointer::{self, At},
    wording,
};

/// The names that a schema declares for an object, through `$ref` and unions too.
pub(super) fn declared(root: &Value, schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    collect(root, schema, &mut names, 0);
    names
}

fn collect(root: &Value, schema: &Value, names: &mut Vec<String>, depth: usize) {
    // Enough for any schema that was written for people; the rest is only a hint less.
    if depth > 8 || names.len() > 100 {
        return;
    }
    let Value::Object(map) = schema else {
        return;
    };
    for name in map
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|map| map.keys())
    {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if let Some((_, target)) = pointer::target(root, map) {
        collect(root, target, names, depth + 1);
    }
    let _ = keywords::each(&At::Root, map, |_, place, part| {
        if place == Place::Here {
            collect(root, part, names, depth + 1);
        }
        Ok::<(), ()>(())
    });
}

/// What to do about an unknown name.
pub(super) fn nearest(name: &str, allowed: &[String]) -> String {
    if allowed.is_empty() {
        return "leave it out; nothing is allowed here".into();
    }
    // The measure's time is the product of the lengths.
    let near = allowed
        .iter()
        .filter(|other| name.len() <= 200 && other.len() <= 200)
        .map(|other| (similarity(name, other), other))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(similarity, _)| *similarity >= 0.7);
    let all = wording::join(allowed.iter().map(|name| wording::clip(name, 100)));
    match near {
        Some((_, near)) => format!(
            "did you mean {}? allowed: {all}",
            Value::from(near.as_str())
        ),
        None => format!("leave it out; allowed: {all}"),
    }
}

/// 1.0 for names that differ in case or separators only, or where one is the other with a
/// word more: `filepath`, `file_path` and `Path` all mean `path`.
fn similarity(a: &str, b: &str) -> f64 {
    let plain = |name: &str| -> String {
        name.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    let (a, b) = (plain(a), plain(b));
    let long = a.len().min(b.len()) >= 3;
    if a == b {
        1.0
    } else if long && (a.ends_with(&b) || b.ends_with(&a) || a.starts_with(&b) || b.starts_with(&a))
    {
        0.95
    } else {
        strsim::jaro_winkler(&a, &b)
    }
}
