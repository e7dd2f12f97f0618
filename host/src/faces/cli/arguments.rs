//! The arguments of `toolgate call`: one JSON text, or `key=value` words. Values are not
//! judged here: a text such as `5` becomes a number where the tool wants one.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::problem::Problem;
use crate::tool::RawArguments;

const FORMS: &str = "give one JSON object, `key=text`, or `key:=JSON` words";

/// # Errors
///
/// If the words are neither JSON nor `key=value`.
pub(super) fn read(words: &[String]) -> Result<RawArguments, Problem> {
    match words {
        [] => Ok(RawArguments::Absent),
        [word] if is_json(word).is_ok() => Ok(RawArguments::Text(word.clone())),
        [word] if word.trim_start().starts_with(['{', '[', '"']) => {
            let why = is_json(word)
                .err()
                .map_or_else(String::new, |error| format!(": {error}"));
            Err(Problem::usage(format!("the arguments are no JSON{why}")).hint(FORMS))
        }
        words => members(words),
    }
}

fn members(words: &[String]) -> Result<RawArguments, Problem> {
    let mut text = String::from("{");
    let mut seen: Vec<&str> = Vec::with_capacity(words.len());
    for word in words {
        let shown: String = word.chars().take(80).collect();
        let Some((key, value)) = word.split_once('=') else {
            return Err(
                Problem::usage(format!("`{shown}` is neither JSON nor key=value")).hint(FORMS),
            );
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                is_json(value).map_err(|error| {
                    Problem::usage(format!("`{shown}`: after `:=` there is no JSON: {error}"))
                        .hint(format!("`{key}={value}` gives it as a text"))
                })?;
                (key, value.trim().to_owned())
            }
            None => (key, serde_json::Value::from(value).to_string()),
        };
        if key.is_empty() {
            return Err(Problem::usage(format!("`{shown}` has no key before the `=`")).hint(FORMS));
        }
        if seen.contains(&key) {
            return Err(Problem::usage(format!("`{key}` is given twice"))
                .hint(format!("give a list as `{key}:=[…]`")));
        }
        if !seen.is_empty() {
            text.push(',');
        }
        seen.push(key);
        let _ = write!(text, "{}:{value}", serde_json::Value::from(key));
    }
    text.push('}');
    Ok(RawArguments::Text(text))
}

fn is_json(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(|_| ())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        match read(&words) {
            Ok(RawArguments::Text(text)) => text,
            Ok(other) => panic!("{other:?}"),
            Err(problem) => panic!("{problem}"),
        }
    }

    #[test]
    fn json_and_words_are_arguments() {
        assert!(matches!(read(&[]), Ok(RawArguments::Absent)));
        assert_eq!(text(&[r#"{"n": 1, "n": 2}"#]), r#"{"n": 1, "n": 2}"#);
        assert_eq!(text(&["[1]"]), "[1]");
        assert_eq!(
            text(&["path=a=b", "n=5", "e="]),
            r#"{"path":"a=b","n":"5","e":""}"#
        );
        assert_eq!(
            text(&[r#"argv:= ["ls", 1e999] "#, "x=\"\n", "é=1"]),
            r#"{"argv":["ls", 1e999],"x":"\"\n","é":"1"}"#
        );
    }

    #[test]
    fn anything_else_is_said() {
        for (words, what) in [
            (&["hello"][..], "`hello` is neither JSON nor key=value"),
            (&["a=1", "{}"], "`{}` is neither"),
            (&["{\"a\"=1}"], "the arguments are no JSON"),
            (&["{\"a\": 1"], "the arguments are no JSON"),
            (&["=1"], "`=1` has no key"),
            (&["a=1", "a=2"], "`a` is given twice"),
            (&["a:=x"], "`a:=x`: after `:=` there is no JSON"),
            (&[""], "`` is neither"),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let problem = read(&words).unwrap_err();
            assert!(problem.to_string().contains(what), "{problem}");
            assert_eq!(problem.exit(), super::super::exit::Exit::Usage);
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_is_json(words in prop::collection::vec("[a=:{}\\[\\]\"1,\u{e9}]{0,8}", 0..4)) {
            if let Ok(RawArguments::Text(text)) = read(&words) {
                prop_assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "{}", text);
            }
        }

        #[test]
        fn any_text_comes_through(value in any::<String>()) {
            let RawArguments::Text(text) = read(&[format!("k={value}")]).unwrap() else { panic!() };
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read["k"].as_str(), Some(&*value));
        }
    }
}
