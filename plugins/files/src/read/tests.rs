use serde_json::Value;

use super::*;
use crate::tree::{Tree, refused};

fn ask(path: &str) -> Read {
    Read {
        path: path.into(),
        offset: None,
        limit: None,
        raw: false,
    }
}

fn value(output: &Output) -> Value {
    serde_json::from_str(&output.value).unwrap()
}

#[track_caller]
fn read(tree: &Tree, ask: Read) -> Value {
    let output = run(&tree.folders(), ask).unwrap();
    assert!(output.value.len() < 1 << 20);
    value(&output)
}

#[test]
fn a_small_file() {
    let tree = Tree::new(&[("w/a", "one\r\ntwo\nthree")]);
    let page = read(&tree, ask("a"));
    assert_eq!(page["content"], "one\r\ntwo\nthree");
    assert_eq!(
        (&page["lines"], &page["total_lines"], &page["size"]),
        (&3.into(), &3.into(), &14.into())
    );
    assert_eq!(page["truncated"], false);
    assert_eq!(page["digest"].as_str().unwrap().len(), 64);
    let empty = Tree::new(&[("w/a", "")]);
    assert_eq!(read(&empty, ask("a"))["lines"], 0);
}

#[test]
fn pages_of_lines_join_to_the_file() {
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    let tree = Tree::new(&[("w/a", &text)]);
    for limit in [1, 7, 99, 100, 101] {
        let (mut joined, mut offset) = (String::new(), Some(1));
        while let Some(at) = offset {
            let page = read(
                &tree,
                Read {
                    offset: Some(at),
                    limit: Some(limit),
                    ..ask("a")
                },
            );
            joined += page["content"].as_str().unwrap();
            offset = page["next_offset"].as_i64();
            assert_eq!(page["truncated"], offset.is_some());
        }
        assert_eq!(joined, text);
    }
    let last = read(
        &tree,
        Read {
            offset: Some(-2),
            ..ask("a")
        },
    );
    assert_eq!(
        (&last["content"], &last["first_line"]),
        (&"line 99\nline 100\n".into(), &99.into())
    );
    assert_eq!(
        read(
            &tree,
            Read {
                offset: Some(-1_000),
                ..ask("a")
            }
        )["lines"],
        100
    );
    let error = refused(
        run(
            &tree.folders(),
            Read {
                offset: Some(102),
                ..ask("a")
            },
        ),
        "range",
    );
    assert!(error.detail.unwrap().contains("100 lines"));
}

#[test]
fn long_lines_are_cut_on_a_character_and_say_where_the_rest_is() {
    for shift in 0..9 {
        let long = format!("{}{}", "x".repeat(shift), "é—😀".repeat(1_000));
        let tree = Tree::new(&[("w/a", &format!("first\n{long}\nlast\n"))]);
        let page = read(&tree, ask("a"));
        let text = page["content"].as_str().unwrap();
        assert!(
            !text.contains('\u{fffd}') && text.ends_with("\nlast\n"),
            "{text}"
        );
        assert_eq!(
            (&page["cut_lines"], &page["truncated"]),
            (&1.into(), &true.into())
        );
        assert!(
            text.contains(&format!("has {} bytes", long.len())) && text.contains("`offset: 6`")
        );
        let rest = read(
            &tree,
            Read {
                offset: Some(6),
                limit: Some(long.len() as u64),
                raw: true,
                ..ask("a")
            },
        );
        assert_eq!(rest["content"], long);
    }
}

#[test]
fn raw_pages_end_on_characters_and_join_to_the_file() {
    let text = "é—😀\n".repeat(20);
    let tree = Tree::new(&[("w/a", &text)]);
    for limit in 1..=9 {
        let (mut joined, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let page = read(
                &tree,
                Read {
                    offset: Some(at),
                    limit: Some(limit),
                    raw: true,
                    ..ask("a")
                },
            );
            let piece = page["content"].as_str().unwrap();
            assert!(!piece.is_empty() && piece.len() as u64 <= limit.max(4));
            joined += piece;
            offset = page["next_offset"].as_i64();
        }
        assert_eq!(joined, text);
    }
    refused(
        run(
            &tree.folders(),
            Read {
                offset: Some(1),
                raw: true,
                ..ask("a")
            },
        ),
        "range",
    );
    refused(
        run(
            &tree.folders(),
            Read {
                offset: Some(1_000),
                raw: true,
                ..ask("a")
            },
        ),
        "range",
    );
    assert_eq!(
        read(
            &tree,
            Read {
                offset: Some(-5),
                raw: true,
                ..ask("a")
            }
        )["content"],
        "😀\n"
    );
}

#[test]
fn what_is_not_utf8() {
    let tree = Tree::new(&[]);
    tree.put("w/latin", b"caf\xe9\nok\n");
    let page = read(&tree, ask("latin"));
    assert_eq!(
        (&page["content"], &page["invalid_utf8"]),
        (&"caf\u{fffd}\nok\n".into(), &true.into())
    );
    refused(
        run(
            &tree.folders(),
            Read {
                raw: true,
                ..ask("latin")
            },
        ),
        "binary",
    );
    tree.put("w/bom", b"\xef\xbb\xbfa\n");
    assert_eq!(read(&tree, ask("bom"))["content"], "a\n");
    assert_eq!(
        read(
            &tree,
            Read {
                raw: true,
                ..ask("bom")
            }
        )["content"],
        "\u{feff}a\n"
    );
    tree.put("w/pdf", b"%PDF-1.7\n");
    tree.put("w/utf16", b"\xff\xfea\0");
    for (name, what) in [("pdf", "PDF"), ("utf16", "UTF-16")] {
        let error = refused(run(&tree.folders(), ask(name)), "binary");
        assert!(error.detail.unwrap().contains(what));
    }
}

#[test]
fn a_picture_is_media() {
    let tree = Tree::new(&[]);
    let bytes = b"\x89PNG\r\n\x1a\n\0\0\0";
    tree.put("w/a.txt", bytes);
    let output = run(&tree.folders(), ask("a.txt")).unwrap();
    assert_eq!(output.blocks.len(), 1);
    assert_eq!(
        (
            output.blocks[0].mime.as_str(),
            output.blocks[0].data.as_slice()
        ),
        ("image/png", bytes.as_slice())
    );
    assert_eq!(value(&output)["type"], "image/png");
}

#[test]
fn what_is_no_file() {
    let tree = Tree::new(&[("w/dir/a", "")]);
    tree.fifo("w/fifo");
    tree.link("fifo", "w/to-fifo");
    refused(run(&tree.folders(), ask("dir")), "is_directory");
    refused(run(&tree.folders(), ask("none")), "not_found");
    refused(run(&tree.folders(), ask("fifo")), "unsupported");
    refused(run(&tree.folders(), ask("to-fifo")), "unsupported");
    refused(run(&tree.folders(), ask("../out/secret")), "unauthorized");
}

#[test]
fn large_files_are_read_in_part() {
    let tree = Tree::new(&[]);
    let file = File::create(tree.at("w/sparse")).unwrap();
    file.set_len(100 << 30).unwrap();
    refused(run(&tree.folders(), ask("sparse")), "binary");
    tree.put("w/big", "0123456789abcde\n".repeat(600_000));
    let page = read(
        &tree,
        Read {
            offset: Some(599_999),
            ..ask("big")
        },
    );
    assert_eq!(
        (&page["lines"], &page["total_lines"]),
        (&2.into(), &600_000.into())
    );
    assert_eq!(page["digest"], Value::Null);
    let page = read(&tree, ask("big"));
    assert_eq!(
        (&page["lines"], &page["next_offset"]),
        (&2_000.into(), &2_001.into())
    );
    let tail = read(
        &tree,
        Read {
            offset: Some(-16),
            raw: true,
            ..ask("big")
        },
    );
    assert_eq!(tail["content"], "0123456789abcde\n");
}

#[test]
fn no_page_outgrows_a_result() {
    let tree = Tree::new(&[]);
    // A control character takes six bytes of JSON.
    tree.put("w/a", "\u{1}".repeat(1 << 20));
    let page = read(
        &tree,
        Read {
            limit: Some(u64::MAX),
            raw: true,
            ..ask("a")
        },
    );
    assert!(page["next_offset"].as_u64().unwrap() > 100_000);
    tree.put("w/b", format!("{}\n", "\u{1}".repeat(1_900)).repeat(1_000));
    let page = read(&tree, ask("b"));
    assert_eq!(
        page["next_offset"].as_u64().unwrap(),
        page["lines"].as_u64().unwrap() + 1
    );
}
