use serde_json::json;

use super::*;

fn holds(text: &str) -> Result<bool, String> {
    let inputs = json!({
        "host": "db-1", "empty": "", "n": 3, "f": 2.5, "yes": true, "no": false, "none": null,
        "list": ["a", 3], "nothing": [], "result": { "count": 4, "flag": false, "tags": ["x"] },
        "word": "a && b > 3", "数": 7, "big": 9_007_199_254_740_993_i64,
    });
    Condition::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error:?}"))
        .holds(inputs.as_object().unwrap())
}

#[test]
fn every_operator_and_type() {
    for text in [
        "true",
        "$args.host",
        "$args.n",
        "$args.yes",
        "$args.list",
        "$args.result",
        "${args.host}",
        "$args.host == \"db-1\"",
        "$args.host==\"db-1\"",
        "\"db-1\" == $args.host",
        "$args.host != \"\"",
        "$args.n == 3",
        "$args.n == \"3\"",
        "$args.n == 3.0",
        "$args.n != 4",
        "$args.n < 4",
        "$args.n<=3",
        "$args.n > 2.5",
        "$args.n>=3",
        "3 <= $args.n",
        "$args.f < 2.6",
        "$args.n > -1",
        "$args.yes == true",
        "$args.yes == \"true\"",
        "$args.no == false",
        "$args.none == null",
        "$args.none != true",
        "$args.host contains \"db\"",
        "$args.host contains 1",
        "$args.list contains \"a\"",
        "$args.list contains 3",
        "$args.list contains \"3\"",
        "\"xdb-1x\" contains $args.host",
        "$args.result.count > 0",
        "$args.result.tags[0] == \"x\"",
        "$args.数 == 7",
        "$args.nothing == \"[]\"",
        "$args.big > 9007199254740992",
        "$args.word == \"a && b > 3\"",
        "$args.word contains \"&&\"",
        "$args.word contains \" > \"",
        "$args.word != \"$$args.word\"",
        "\"a\\\"b\" != $args.host",
    ] {
        assert_eq!(holds(text), Ok(true), "{text}");
    }
    for text in [
        "false",
        "$args.empty",
        "$args.no",
        "$args.none",
        "$args.nothing",
        "$args.result.flag",
        "$args.host == \"x\"",
        "$args.n > 3",
        "$args.n == \"x\"",
        "$args.list contains \"z\"",
        "$args.host contains \"DB\"",
        "$args.result.flag == true",
    ] {
        assert_eq!(holds(text), Ok(false), "{text}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_no_false() {
    for (text, words) in [
        ("$args.missing", "no input `missing`"),
        ("$args.missing == 1", "no input `missing`"),
        ("$args.result.nope > 1", "$args.result is an object with"),
        ("$args.none.x == 1", "$args.none is null"),
        ("$args.host > 3", "the text \"db-1\" is no number"),
        ("3 < $args.none", "null is no number"),
        ("$args.yes >= 1", "the boolean true is no number"),
        ("$args.n contains 3", "not into the number 3"),
        ("$args.result contains \"count\"", "not into an object"),
        ("$args.host contains null", "does not contain null"),
    ] {
        let error = holds(text).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn more_than_one_comparison_is_refused_with_a_way_out() {
    for text in [
        "$args.a && $args.b",
        "$args.a == 1 && $args.b == 2",
        "$args.a || true",
        "!$args.a",
        "($args.a == 1)",
        "$args.a and $args.b",
        "not $args.a",
        "$args.a == 1 == 2",
        "$args.a == $args.b",
        "1 < $args.a < 3",
        "$args.a + 1",
    ] {
        let error = Condition::parse(text).unwrap_err();
        assert!(
            error
                .hint
                .contains("not supported: use two groups or `seq_when_call`"),
            "{text}: {error:?}"
        );
    }
}

#[test]
fn everything_else_says_what_to_write() {
    for (text, words) in [
        ("", "$args.x"),
        ("$args.a = 1", "write `==`"),
        ("$args.a === 1", "write `==`"),
        ("$args.a == 'x'", "double quotes"),
        ("$args.a == x", "`\"x\"`"),
        ("$args.a == True", "`true`"),
        ("\"$args.a\" == \"x\"", "without quotes"),
        ("$args.a ==", "$args.x"),
        ("== 1", "$args.x"),
        ("$args.a 1", "$args.x"),
        ("$args.a == 1 2", "$args.x"),
        ("\"x\"", "$args.x"),
        ("3", "$args.x"),
        ("$args.a > \"3\"", "$args.x"),
        ("3 contains $args.a", "$args.x"),
        ("$args.a == \"x", "end it"),
        ("$args.a == [1]", "$args.x"),
        ("args.a == 1", "$args.x"),
        ("$args.", "name"),
        ("$HOME == 1", "$args.x"),
        ("$args.a == 99999999999999999999", "$args.x"),
    ] {
        let error = Condition::parse(text).unwrap_err();
        assert!(error.hint.contains(words), "{text}: {error:?}");
    }
    assert_eq!(Condition::parse("$args.a == 'x'").unwrap_err().offset, 11);
}

#[test]
fn it_is_written_as_it_was_meant() {
    for text in [
        "true",
        "$args.a.b[0]",
        "$args.a != \"x y\"",
        "3 <= $args.n",
        "$args.l contains null",
        "$args.a == \"$$args.b\"",
        "$args.a == 1.5",
    ] {
        let condition = Condition::parse(text).unwrap();
        assert_eq!(condition.write(), text);
        let stored = serde_json::to_string(&condition).unwrap();
        assert_eq!(
            serde_json::from_str::<Condition>(&stored).unwrap(),
            condition
        );
    }
}
