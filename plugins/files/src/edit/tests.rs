use super::*;
use crate::tree::{Tree, refused};

fn edit(old: &str, new: &str) -> Replacement {
    Replacement {
        old: old.into(),
        new: new.into(),
        replace_all: false,
    }
}

fn all(old: &str, new: &str) -> Replacement {
    Replacement {
        replace_all: true,
        ..edit(old, new)
    }
}

/// The file after the edits, or the error; then the file has to be as it was.
fn edited(file: impl AsRef<[u8]>, edits: Vec<Replacement>) -> Result<Vec<u8>, ToolError> {
    let tree = Tree::new(&[]);
    tree.put("w/a", &file);
    match run(
        &tree.folders(),
        Edit {
            path: "a".into(),
            edits,
        },
    ) {
        Ok(done) => {
            assert_eq!(done.digest, content::digest(&tree.bytes("w/a")));
            Ok(tree.bytes("w/a"))
        }
        Err(error) => {
            assert_eq!(tree.bytes("w/a"), file.as_ref(), "an error changes nothing");
            Err(error)
        }
    }
}

#[track_caller]
fn becomes(file: &[u8], edits: Vec<Replacement>, new: &[u8]) {
    let result = edited(file, edits).unwrap();
    assert_eq!(
        result.escape_ascii().to_string(),
        new.escape_ascii().to_string()
    );
}

#[test]
fn only_the_named_bytes_change() {
    becomes(
        b"x = 1\n// caf\xe9\n",
        vec![edit("x = 1", "x = 2")],
        b"x = 2\n// caf\xe9\n",
    );
    becomes(b"a\0b\n", vec![edit("b", "c")], b"a\0c\n");
    becomes(
        b"\xef\xbb\xbfa\nb",
        vec![edit("a", "c")],
        b"\xef\xbb\xbfc\nb",
    );
    becomes(b"a b a", vec![edit("b", "")], b"a  a");
    let error = refused(
        edited(b"\xff\xfex\0=\0", vec![edit("x=", "y=")]),
        "no_match",
    );
    assert!(error.hint.unwrap().contains("UTF-16"));
}

#[test]
fn line_ends_follow_the_file() {
    becomes(
        b"a\r\nb\r\nc\r\n",
        vec![edit("a\nb", "x\ny\nz")],
        b"x\r\ny\r\nz\r\nc\r\n",
    );
    becomes(b"a\r\nb\r\n", vec![edit("b", "x\ny")], b"a\r\nx\r\ny\r\n");
    becomes(b"a\r\nb", vec![edit("\nb", "\nc")], b"a\r\nc");
    becomes(b"a\rb\rc", vec![edit("a\nb", "x\ny")], b"x\ry\rc");
    becomes(b"a\nb\n", vec![edit("a\n", "x\n")], b"x\nb\n");
    // Mixed: each place by itself.
    becomes(
        b"a\r\nb\nc\n",
        vec![edit("a", "x\ny"), edit("b", "p\nq")],
        b"x\r\ny\r\np\nq\nc\n",
    );
    becomes(b"a\r\nb\nc", vec![edit("a\nb\nc", "d")], b"d");
    // Text that says CR itself is literal, so line ends can be changed.
    becomes(b"a\r\nb\r\n", vec![edit("a\r\n", "a\n")], b"a\nb\r\n");
    becomes(b"1\r\n2\r\n3\r\n", vec![all("\n", ";")], b"1;2;3;");
}

#[test]
fn old_must_occur_exactly_once() {
    let error = refused(edited("aaa\nb\naa\n", vec![edit("aa", "c")]), "ambiguous");
    let detail = error.detail.unwrap();
    assert!(
        detail.contains("3 times") && detail.contains("lines 1, 1, 3"),
        "{detail}"
    );
    assert_eq!(error.field.unwrap(), "edits[0].old");
    let error = refused(
        edited("a\n", vec![edit("a", "b"), edit("c", "d")]),
        "no_match",
    );
    assert_eq!(error.field.unwrap(), "edits[1].old");
    assert!(error.detail.unwrap().contains("0 times"));
    let error = refused(
        edited("x\n\tfoo( a,\n   b )\n", vec![edit("  foo( a,\n b )", "")]),
        "no_match",
    );
    assert!(error.hint.unwrap().starts_with("line 2 differs"));
    refused(edited("a", vec![edit("", "b")]), "range");
    refused(edited("a", vec![edit("a", "a")]), "unchanged");
    let many = "x".repeat(1_000);
    assert!(
        refused(edited(many, vec![edit("x", "")]), "ambiguous")
            .detail
            .unwrap()
            .contains("at least 100")
    );
}

#[test]
fn replace_all_goes_from_left_to_right() {
    becomes(b"aaaaa", vec![all("aa", "b")], b"bba");
    refused(edited("a", vec![all("b", "c")]), "no_match");
    refused(
        edited("a".repeat(PLACES + 1), vec![all("a", "")]),
        "too_large",
    );
}

#[test]
fn edits_are_about_the_file_as_it_was_and_do_not_overlap() {
    becomes(
        b"1 2 3",
        vec![edit("3", "1"), edit("1", "2"), edit("2", "33")],
        b"2 33 1",
    );
    refused(
        edited("1", vec![edit("1", "2"), edit("2", "3")]),
        "no_match",
    );
    let error = refused(
        edited("abc", vec![edit("bc", "x"), edit("ab", "y")]),
        "overlap",
    );
    assert_eq!(error.field.unwrap(), "edits[1].old");
    refused(
        edited("abc", vec![edit("b", "x"), edit("b", "y")]),
        "overlap",
    );
    becomes(b"abc", vec![edit("a", "x"), edit("b", "y")], b"xyc");
}

#[test]
fn sizes_are_bounded() {
    refused(
        edited("a".repeat(content::CAP + 1), vec![edit("a", "b")]),
        "too_large",
    );
    let new = "x".repeat(content::CAP);
    refused(edited("ab", vec![edit("a", &new)]), "too_large");
    refused(
        edited("aaaa".repeat(1_000), vec![all("a", &new)]),
        "too_large",
    );
}

#[test]
fn what_cannot_be_edited() {
    let tree = Tree::new(&[("w/dir/a", "a"), ("ro/a", "a"), ("w/.git/a", "a")]);
    tree.link("../out/secret", "w/out");
    tree.fifo("w/fifo");
    let before = tree.all();
    for (path, reason) in [
        ("dir", "is_directory"),
        ("none", "not_found"),
        ("fifo", "unsupported"),
        ("out", "unauthorized"),
        (".git/a", "unauthorized"),
        ("../ro/a", "read_only"),
    ] {
        refused(
            run(
                &tree.folders(),
                Edit {
                    path: path.into(),
                    edits: vec![edit("a", "b")],
                },
            ),
            reason,
        );
    }
    assert_eq!(tree.all(), before);
}

#[test]
fn any_cut_of_a_text_with_wide_characters_is_safe() {
    let text = "é—😀\r\n".repeat(2);
    for start in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        for end in (start + 1..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            drop(edited(&text, vec![all(&text[start..end], "x")]));
        }
    }
}

#[test]
fn utf16_is_not_edited() {
    refused(edited(b"\xff\xfex\0", vec![edit("x", "yz")]), "binary");
    refused(edited(b"\xfe\xff\0x", vec![edit("x", "")]), "binary");
}
