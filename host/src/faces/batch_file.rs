//! A model's reply, as text, to a batch. Reads our own form, a bare list of calls, an
//! OpenAI-style message or whole response, and an Anthropic-style message.
//!
//! Only the frame is read here. Arguments stay the text that the model wrote, so that
//! doubled keys and numbers of any size reach the one place that judges them. In our own
//! form unknown keys are errors; providers add keys of their own, so in theirs they are
//! passed by.

use std::{fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::span;
use crate::tool::{Batch, RawArguments, ToolCall};

/// No reply of a model has so many; more is some other file.
const MAX_CALLS: usize = 10_000;

const FORMS: &str = "a batch is {\"calls\": [{\"id\": …, \"name\": …, \"arguments\": {…}}]}, \
                     a bare list of such calls, an OpenAI-style message or response, or an Anthropic-style message";

const CALL: &str =
    "a call is {\"name\": …, \"arguments\": {…}}, with an `id` and a `timeout` if need be";

/// Why a text is no batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchFileError {
    /// What is wrong.
    pub(super) what: String,
    /// Line and column, from 1.
    pub(super) at: Option<(usize, usize)>,
    /// What to do.
    pub(super) hint: Option<String>,
}

impl BatchFileError {
    fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            at: None,
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// # Errors
///
/// If the text is no JSON, none of the forms, or has no call in it.
pub(super) fn read(text: &str) -> Result<Batch, BatchFileError> {
    // Some editors put a byte order mark first.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reader = Reader { text };
    let root: &RawValue = serde_json::from_str(text).map_err(|error| reader.no_json(&error))?;
    let batch = match first(root) {
        '[' => Batch {
            calls: reader.own_calls(root)?,
            cut: false,
        },
        '{' => reader.object_form(root)?,
        _ => return Err(reader.wrong(root, "this is no batch of calls").hint(FORMS)),
    };
    if batch.calls.is_empty() {
        return Err(reader
            .wrong(root, "there are no calls in it")
            .hint("nothing was run"));
    }
    Ok(batch)
}

/// One call in our own form, and how long it may take.
///
/// # Errors
///
/// If the text is no JSON, or no call.
pub(super) fn read_call(text: &str) -> Result<(ToolCall, Option<Duration>), BatchFileError> {
    let reader = Reader { text };
    let root: &RawValue = serde_json::from_str(text).map_err(|error| reader.no_json(&error))?;
    if first(root) != '{' {
        return Err(reader.wrong(root, "a call has to be an object").hint(CALL));
    }
    let call = reader.object(root, "the call")?;
    call.only(&["id", "name", "arguments", "timeout"])?;
    let timeout = call
        .get("timeout")?
        .filter(|raw| raw.get() != "null")
        .map(|raw| reader.time(raw))
        .transpose()?;
    Ok((reader.call(&call, call.get("id")?, "arguments")?, timeout))
}

struct Reader<'t> {
    text: &'t str,
}

impl<'t> Reader<'t> {
    fn object_form(&self, root: &'t RawValue) -> Result<Batch, BatchFileError> {
        let object = self.object(root, "the batch")?;
        if let Some(calls) = object.get("calls")? {
            object.only(&["calls", "finish_reason", "stop_reason"])?;
            return Ok(Batch {
                calls: self.own_calls(calls)?,
                cut: object.is_cut()?,
            });
        }
        if let Some(choices) = object.get("choices")? {
            return self.response(choices);
        }
        if ["tool_calls", "content", "role"]
            .iter()
            .any(|key| object.has(key))
        {
            return self.message(&object, object.is_cut()?);
        }
        Err(self.wrong(root, "this is no batch of calls").hint(FORMS))
    }

    /// A whole response in OpenAI's form.
    fn response(&self, choices: &'t RawValue) -> Result<Batch, BatchFileError> {
        let list = self.list(choices, "`choices`")?;
        let [choice] = list[..] else {
            let what = format!(
                "the response has {} choices, and a batch is one reply",
                list.len()
            );
            return Err(self.wrong(choices, what).hint("leave one choice in it"));
        };
        let choice = self.object(choice, "the choice")?;
        let Some(message) = choice.get("message")? else {
            return Err(self
                .wrong(choices, "the choice has no `message`")
                .hint("a streamed response has to be put together first"));
        };
        self.message(&self.object(message, "`message`")?, choice.is_cut()?)
    }

    fn message(&self, message: &Object<'t, '_>, cut: bool) -> Result<Batch, BatchFileError> {
        let present = |raw: &&RawValue| raw.get() != "null";
        let calls = if let Some(calls) = message.get("tool_calls")?.filter(present) {
            let calls = self.list(calls, "`tool_calls`")?;
            calls
                .into_iter()
                .map(|call| self.openai_call(call))
                .collect::<Result<_, _>>()?
        } else if let Some(content) = message.get("content")?.filter(|raw| first(raw) == '[') {
            let mut calls = Vec::new();
            for block in self.list(content, "`content`")? {
                calls.extend(self.anthropic_block(block)?);
            }
            calls
        } else {
            Vec::new()
        };
        Ok(Batch { calls, cut })
    }

    fn own_calls(&self, raw: &'t RawValue) -> Result<Vec<ToolCall>, BatchFileError> {
        let calls = self.list(raw, "`calls`")?;
        calls.into_iter().map(|call| self.own_call(call)).collect()
    }

    fn own_call(&self, raw: &'t RawValue) -> Result<ToolCall, BatchFileError> {
        let call = self.object(raw, "a call")?;
        call.only(&["id", "name", "arguments"])?;
        self.call(&call, call.get("id")?, "arguments")
    }

    fn openai_call(&self, raw: &'t RawValue) -> Result<ToolCall, BatchFileError> {
        let call = self.object(raw, "a tool call")?;
        let Some(function) = call.get("function")? else {
            return Err(self
                .wrong(raw, "the tool call has no `function`")
                .hint("only calls of functions can be run"));
        };
        self.call(
            &self.object(function, "`function`")?,
            call.get("id")?,
            "arguments",
        )
    }

    /// Text, thinking and whatever else there is are no calls.
    fn anthropic_block(&self, raw: &'t RawValue) -> Result<Option<ToolCall>, BatchFileError> {
        let block = self.object(raw, "a content block")?;
        let kind = block
            .get("type")?
            .map(|kind| self.string(kind, "`type`"))
            .transpose()?;
        if kind.as_deref() != Some("tool_use") {
            return Ok(None);
        }
        self.call(&block, block.get("id")?, "input").map(Some)
    }

    fn call(
        &self,
        object: &Object<'t, '_>,
        id: Option<&'t RawValue>,
        arguments: &str,
    ) -> Result<ToolCall, BatchFileError> {
        let Some(name) = object.get("name")? else {
            return Err(self
                .wrong(object.raw, "the call has no `name`")
                .hint("name the tool"));
        };
        let id = id
            .filter(|raw| raw.get() != "null")
            .map(|id| self.string(id, "`id`"))
            .transpose()?;
        Ok(ToolCall {
            id,
            name: self.string(name, "`name`")?,
            arguments: raw_arguments(object.get(arguments)?),
        })
    }

    fn object(&self, raw: &'t RawValue, what: &str) -> Result<Object<'t, '_>, BatchFileError> {
        if first(raw) != '{' {
            return Err(self
                .wrong(raw, format!("{what} has to be an object"))
                .hint(FORMS));
        }
        match serde_json::from_str(raw.get()) {
            Ok(Members(members)) => Ok(Object {
                reader: self,
                raw,
                members,
            }),
            Err(error) => {
                Err(self.wrong(raw, format!("{what} cannot be read: {}", reason(&error))))
            }
        }
    }

    fn list(&self, raw: &'t RawValue, what: &str) -> Result<Vec<&'t RawValue>, BatchFileError> {
        if first(raw) != '[' {
            return Err(self
                .wrong(raw, format!("{what} has to be a list"))
                .hint(FORMS));
        }
        let list: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|error| {
            self.wrong(raw, format!("{what} cannot be read: {}", reason(&error)))
        })?;
        if list.len() > MAX_CALLS {
            return Err(self.wrong(
                raw,
                format!(
                    "{what} has {} entries; the limit is {MAX_CALLS}",
                    list.len()
                ),
            ));
        }
        Ok(list)
    }

    fn string(&self, raw: &RawValue, what: &str) -> Result<String, BatchFileError> {
        serde_json::from_str(raw.get())
            .map_err(|_| self.wrong(raw, format!("{what} has to be a text")))
    }

    fn time(&self, raw: &RawValue) -> Result<Duration, BatchFileError> {
        let time = match serde_json::from_str(raw.get()) {
            Ok(serde_json::Value::String(text)) => span::read(&text),
            Ok(serde_json::Value::Number(number)) => number.as_f64().and_then(span::seconds),
            _ => None,
        };
        time.ok_or_else(|| {
            self.wrong(raw, "`timeout` is no length of time")
                .hint(format!("write seconds as a number, or {}", span::FORMS))
        })
    }

    fn wrong(&self, raw: &RawValue, what: impl Into<String>) -> BatchFileError {
        BatchFileError {
            at: self.place(raw.get()),
            ..BatchFileError::new(what)
        }
    }

    /// Where a part of the text begins.
    fn place(&self, part: &str) -> Option<(usize, usize)> {
        let offset = part
            .as_ptr()
            .addr()
            .checked_sub(self.text.as_ptr().addr())?;
        let before = self.text.get(..offset)?;
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |start| start.chars().count())
            + 1;
        Some((line, column))
    }

    fn no_json(&self, error: &serde_json::Error) -> BatchFileError {
        let wrong = BatchFileError::new(format!("this is no JSON: {}", reason(error)));
        // The reader counts bytes.
        let line = self.text.split('\n').nth(error.line().saturating_sub(1));
        let start = line.map(|line| line.floor_char_boundary(error.column().saturating_sub(1)));
        let column = line
            .zip(start)
            .map(|(line, start)| line[..start].chars().count() + 1);
        let at = column.map(|column| (error.line().max(1), column));
        BatchFileError { at, ..wrong }
    }
}

/// An object whose members stay text, in their order, doubled ones included.
struct Object<'t, 'r> {
    reader: &'r Reader<'t>,
    raw: &'t RawValue,
    members: Vec<(String, &'t RawValue)>,
}

impl<'t> Object<'t, '_> {
    fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    /// The member of this name, which may stand there once.
    fn get(&self, key: &str) -> Result<Option<&'t RawValue>, BatchFileError> {
        let mut found = self
            .members
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, raw)| *raw);
        let one = found.next();
        match found.next() {
            Some(second) => Err(self
                .reader
                .wrong(second, format!("`{key}` stands there twice"))
                .hint("readers differ in which one counts; leave one")),
            None => Ok(one),
        }
    }

    fn only(&self, known: &[&str]) -> Result<(), BatchFileError> {
        let unknown = self
            .members
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()));
        let Some((name, value)) = unknown else {
            return Ok(());
        };
        let near = known
            .iter()
            .map(|known| (strsim::jaro_winkler(name, known), known))
            .filter(|(score, _)| *score >= 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = match near {
            Some((_, near)) => format!("did you mean `{near}`?"),
            None => format!("known are `{}`", known.join("`, `")),
        };
        let name: String = name.chars().take(80).collect();
        Err(self
            .reader
            .wrong(value, format!("unknown key `{name}`"))
            .hint(hint))
    }

    /// Whether the reply was cut by its length limit.
    fn is_cut(&self) -> Result<bool, BatchFileError> {
        let mut cut = false;
        for (key, words) in [
            ("finish_reason", &["length"][..]),
            (
                "stop_reason",
                &["max_tokens", "model_context_window_exceeded"],
            ),
        ] {
            if let Some(raw) = self.get(key)?.filter(|raw| raw.get() != "null") {
                let word = self.reader.string(raw, &format!("`{key}`"))?;
                cut |= words.contains(&word.as_str());
            }
        }
        Ok(cut)
    }
}

struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// A JSON text that holds JSON, as OpenAI has it, or the JSON itself.
fn raw_arguments(raw: Option<&RawValue>) -> RawArguments {
    let Some(raw) = raw else {
        return RawArguments::Absent;
    };
    let inside = (first(raw) == '"')
        .then(|| serde_json::from_str::<String>(raw.get()).ok())
        .flatten();
    RawArguments::Text(inside.unwrap_or_else(|| raw.get().to_owned()))
}

/// A JSON value has a first character.
fn first(raw: &RawValue) -> char {
    raw.get().chars().next().unwrap_or('\0')
}

/// Without the place, which is said elsewhere.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
