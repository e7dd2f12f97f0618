//! The `tools` string: JSON objects, each followed by `;`. Every way to lose one of them
//! in silence is an error here, with its place and with what to write instead.

use serde_json::{Map, Value};

use crate::{json, kind::quoted};

/// One item as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawItem {
    pub(crate) members: Map<String, Value>,
    /// Where its `{` stands.
    pub(crate) offset: usize,
    /// Where each of its keys stands.
    pub(crate) keys: Vec<(usize, String)>,
}

/// What is wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) offset: usize,
    pub(crate) what: String,
    pub(crate) hint: String,
}

const FORM: &str = "write each item as a JSON object followed by `;`, the last one too, for example {\"tools\":\"{\\\"tool\\\":\\\"files_list\\\",\\\"args\\\":{\\\"path\\\":\\\".\\\"}} ;\"}";

fn flaw(offset: usize, what: impl Into<String>, hint: impl Into<String>) -> Flaw {
    Flaw {
        offset,
        what: what.into(),
        hint: hint.into(),
    }
}

/// All items, and all flaws that do not hide what follows them.
pub(crate) fn read(text: &str) -> (Vec<RawItem>, Vec<Flaw>) {
    let (mut items, mut flaws) = (Vec::new(), Vec::new());
    let mut at = 0;
    loop {
        at = skip_blanks(text, at);
        let rest = text.get(at..).unwrap_or_default();
        let Some(first) = rest.chars().next() else {
            break;
        };
        if first == ';' {
            flaws.push(flaw(
                at,
                "an item is missing before this `;`",
                "remove the `;`, or write the missing item before it",
            ));
            at += 1;
            continue;
        }
        if first != '{' {
            flaws.push(outside(rest, at, items.is_empty()));
            // What follows cannot be told from what was meant.
            return (items, flaws);
        }
        match json::first(rest) {
            Ok((Value::Object(members), length)) => {
                items.push(RawItem {
                    members,
                    offset: at,
                    keys: json::keys(rest.get(..length).unwrap_or_default())
                        .into_iter()
                        .map(|(offset, key)| (offset + at, key))
                        .collect(),
                });
                at = match separator(text, at + length) {
                    Ok(next) => next,
                    Err((flaw, next)) => {
                        flaws.push(flaw);
                        match next {
                            Some(next) => next,
                            None => return (items, flaws),
                        }
                    }
                };
            }
            Ok(_) => break,
            Err(fault) => {
                flaws.push(unreadable(rest, at, &fault));
                return (items, flaws);
            }
        }
    }
    if items.is_empty() && flaws.is_empty() {
        flaws.push(flaw(0, "`tools` holds no item at all", FORM));
    }
    (items, flaws)
}

/// The items as one string that reads as the same items.
pub(crate) fn write(items: impl IntoIterator<Item = Map<String, Value>>) -> String {
    let items: Vec<String> = items
        .into_iter()
        .map(|item| format!("{} ;", Value::Object(item)))
        .collect();
    items.join(" ")
}

fn skip_blanks(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    text.len() - rest.trim_start().len()
}

/// Where the next item may begin, behind the `;` that has to stand at `end`. A flaw comes
/// with the place to read on from, if that is certain.
fn separator(text: &str, end: usize) -> Result<usize, (Flaw, Option<usize>)> {
    let at = skip_blanks(text, end);
    let rest = text.get(at..).unwrap_or_default();
    match rest.chars().next() {
        Some(';') => Ok(at + 1),
        None => Err((
            flaw(
                end,
                "the last item has no `;` behind it",
                "add ` ;` at the end: every item is followed by `;`, the last one too",
            ),
            Some(text.len()),
        )),
        Some('{') => Err((
            flaw(
                at,
                "a `;` is missing between the item that ends here and the next one",
                "write `;` before this `{`",
            ),
            Some(at),
        )),
        Some(closer @ ('}' | ']')) => Err((
            flaw(
                at,
                format!("a `{closer}` too many behind the item"),
                format!("remove this `{closer}`"),
            ),
            None,
        )),
        Some(',') => Err((
            flaw(
                at,
                "a `,` stands between the items",
                "write `;` instead of this `,`",
            ),
            Some(at + 1),
        )),
        Some(_) => Err((
            flaw(
                at,
                format!("text behind an item: {}", quoted(rest)),
                "only `;` may follow an item; a command's text belongs inside its `args`",
            ),
            None,
        )),
    }
}

/// Something that is neither an item nor a `;`.
fn outside(rest: &str, at: usize, is_first: bool) -> Flaw {
    match rest.chars().next() {
        Some('[') if is_first => flaw(
            at,
            "`tools` begins with `[`: it is no array",
            format!("leave the `[`, the `,` and the `]` out; {FORM}"),
        ),
        Some(closer @ ('}' | ']')) => flaw(
            at,
            format!("a `{closer}` that closes nothing"),
            format!("remove this `{closer}`"),
        ),
        _ => flaw(
            at,
            format!("text outside of the items: {}", quoted(rest)),
            FORM,
        ),
    }
}

/// A text that is no JSON. `rest` begins with it.
pub(crate) fn unreadable(rest: &str, at: usize, fault: &json::Fault) -> Flaw {
    let place = at + fault.offset;
    let here = rest.get(fault.offset..).unwrap_or_default();
    match &fault.kind {
        json::Kind::Duplicate(key) => flaw(
            place,
            format!("the key `{key}` is given twice in one object"),
            "keep one of the two",
        ),
        json::Kind::Integer => flaw(
            place,
            "an integer of more than 64 bits",
            "write it as text, in quotes",
        ),
        json::Kind::Deep => flaw(
            place,
            format!("nested deeper than {} arrays and objects", json::MAX_DEPTH),
            "make it flatter",
        ),
        json::Kind::End => match json::open_at_end(rest) {
            Some((open, '"')) => flaw(
                at + open,
                "the text that begins here is not closed",
                "end it with `\"`; inside a JSON text write `\\\"` for a quote and `\\\\` for a backslash",
            ),
            Some((open, bracket)) => {
                let closer = if bracket == '[' { ']' } else { '}' };
                flaw(
                    at + open,
                    format!("the `{bracket}` here is not closed"),
                    format!("write the missing `{closer}` before the `;`"),
                )
            }
            None => flaw(place, "the item ends too early", FORM),
        },
        json::Kind::Behind => flaw(
            place,
            format!("text behind the document: {}", quoted(here)),
            "remove it",
        ),
        json::Kind::Syntax => syntax(rest, here, place, at + fault.offset),
    }
}

fn syntax(rest: &str, here: &str, place: usize, at: usize) -> Flaw {
    let before = rest
        .get(..rest.len() - here.len())
        .unwrap_or_default()
        .trim_end();
    if here.starts_with("$args") || here.starts_with("${args") {
        let reference: String = here
            .chars()
            .take_while(|c| !c.is_whitespace() && !matches!(c, ',' | ';'))
            .collect();
        let reference = trim_closers(&reference);
        return flaw(
            place,
            format!("the reference `{reference}` stands without quotes"),
            format!("write \"{reference}\" in double quotes: it keeps the value's type"),
        );
    }
    let first = here.chars().next().unwrap_or(' ');
    match first {
        '\'' => flaw(
            place,
            "a text in single quotes",
            "JSON takes double quotes only: \"…\"",
        ),
        '/' => flaw(place, "a comment", "JSON has no comments: remove it"),
        '}' | ']' if before.ends_with(',') => flaw(
            place,
            format!("a `,` before this `{first}`"),
            "remove the `,`",
        ),
        '}' | ']' => flaw(
            place,
            format!("a `{first}` that does not fit what is open here"),
            "close `{` with `}` and `[` with `]`, in the order in which they were opened",
        ),
        c if (c.is_alphanumeric() || c == '_') && before.ends_with(['{', ',']) => {
            let key: String = here
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            flaw(
                place,
                format!("the key `{key}` stands without quotes"),
                format!(
                    "write \"{key}\" in double quotes, for example {{\"tools\":\"{{\\\"tool\\\":\\\"files_list\\\"}} ;\"}}"
                ),
            )
        }
        c if c.is_control() => flaw(
            place,
            "a line break or another control character inside a text",
            "write `\\n` for a line break inside a JSON text",
        ),
        ';' => flaw(
            at,
            "a `;` inside an item that is not closed yet",
            "close the item with `}` before the `;`",
        ),
        _ => flaw(
            place,
            format!("no JSON here: {}", quoted(here)),
            "texts and keys stand in double quotes; numbers, true, false and null stand without",
        ),
    }
}

/// The brackets that close what stands around the reference are not its own.
fn trim_closers(reference: &str) -> &str {
    let mut reference = reference.trim_end_matches('}');
    while reference.ends_with(']') && !reference.contains('[') {
        reference = &reference[..reference.len() - 1];
    }
    reference
}

#[cfg(test)]
mod tests;
