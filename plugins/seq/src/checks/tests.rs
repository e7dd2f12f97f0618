use serde_json::{Value, json};

use crate::testing::{Fake, errors};

fn calling(target: &str) -> Value {
    json!([{ "name": "a", "tools": format!("{{\"tool\":\"seq_call\",\"args\":{{\"target\":\"{target}\"}}}} ;") }])
}

#[test]
fn a_circle_over_stored_sequences_is_named_in_order() {
    let fake = Fake::new();
    // Longer than any run could go; a create looks at what it can reach, and no further.
    for n in 0..300 {
        let target = if n == 299 {
            "#end".to_owned()
        } else {
            format!("#s{}", n + 1)
        };
        fake.create(&format!("s{n}"), calling(&target)).unwrap();
    }
    let refused = errors(fake.create("end", calling("#s0")));
    let message = refused[0]["message"].as_str().unwrap();
    assert!(
        message.contains("#end → #s0 → #s1 → ") && message.ends_with("#s299 → #end"),
        "{message}"
    );
    let refused = errors(fake.create("me", calling("#me")));
    assert!(
        refused[0]["message"]
            .as_str()
            .unwrap()
            .ends_with("#me → #me")
    );
}

#[test]
fn conditions_and_calls_of_hand_edited_files_are_caught_at_the_run() {
    let fake = Fake::new();
    fake.create("a", calling("#b")).unwrap();
    fake.create("b", calling("#c")).unwrap();
    let file = fake.store_file("b");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("\"c\"", "\"a\"").replace("\"#c\"", "\"#a\""),
    )
    .unwrap();
    let report = fake.run("a", json!({}));
    assert!(report.to_string().contains("#a → #b → #a"), "{report}");
}
