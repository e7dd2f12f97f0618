//! `toolgate token`, as an operator types it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use crate::serving::Site;

#[test]
fn a_token_is_shown_once_and_listed_without_its_secret() {
    let site = Site::fast();
    let (code, out, err) = site.run(&[
        "token",
        "new",
        "assistant",
        "--name",
        "laptop",
        "--expires",
        "30d",
    ]);
    assert_eq!(code, Some(0), "{err}");
    let token = out.trim();
    let (id, secret) = token.strip_prefix("tg_").unwrap().split_once('_').unwrap();
    assert_eq!((id.len(), secret.len()), (10, 43), "{token}");
    assert!(err.contains("shown once") && !err.contains(secret), "{err}");

    let (code, out, err) = site.run(&["token", "list"]);
    assert_eq!(code, Some(0), "{err}");
    let cells: Vec<&str> = out.trim().split('\t').collect();
    assert_eq!(
        (cells[0], cells[1], cells[2], cells[5]),
        (id, "assistant", "ok", "laptop")
    );
    let (_, out, _) = site.run(&["token", "list", "--json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed[0]["id"], id);
    assert!(listed[0]["expires"].as_str().unwrap().ends_with('Z'));
    assert!(
        !out.contains(secret) && listed[0].get("sha256").is_none(),
        "{out}"
    );

    let file = site.root.join("data/tokens.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains(secret), "{text}");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        fs::metadata(site.root.join("data"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );

    // By its id, or by all of it where that is what one has.
    let (code, out, _) = site.run(&["token", "revoke", token]);
    assert_eq!(
        (code, out.trim()),
        (Some(0), &*format!("revoked {id}, a token of assistant"))
    );
    let (code, _, err) = site.run(&["token", "revoke", id]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("there is no token") && err.contains("hint:"),
        "{err}"
    );
}

#[test]
fn what_makes_no_token_says_why() {
    let site = Site::fast();
    for (arguments, what, hint) in [
        (
            &["assistent"][..],
            "no principal `assistent`",
            "did you mean `assistant`?",
        ),
        (
            &["nobody"],
            "no principal `nobody`",
            "it has: assistant, local, prober",
        ),
        (&["local", "--expires", "soon"], "`--expires soon`", "30d"),
        (&["local", "--expires", "0s"], "`--expires 0s`", "30d"),
        (
            &["local", "--expires", "99999d"],
            "`--expires 99999d`",
            "30d",
        ),
        (&["local", "--name", ""], "no name", "64"),
    ] {
        let all = [&["token", "new"], arguments].concat();
        let (code, out, err) = site.run(&all);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(err.contains(what) && err.contains(hint), "{err}");
    }
    assert!(!site.root.join("data/tokens.json").exists());
}

#[test]
fn a_broken_file_of_tokens_is_said_and_not_written_over() {
    let site = Site::fast();
    let token = site.token("local");
    let file = site.root.join("data/tokens.json");
    fs::write(&file, "{\"v\": 1, \"tokens\": [").unwrap();
    for arguments in [
        &["token", "list"][..],
        &["token", "new", "local"],
        &["token", "revoke", "x"],
    ] {
        let (code, _, err) = site.run(arguments);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("tokens.json"), "{err}");
    }
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "{\"v\": 1, \"tokens\": ["
    );
    let served = site.serve();
    served.until_said("nobody can call");
    let answer = served
        .get(&token, "/api/v1/tools")
        .refused(503, "unavailable");
    assert!(!answer.body.contains("tokens.json"), "{answer:?}");
}
