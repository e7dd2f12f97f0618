//! The architecture is a rule, not a hope: a file uses only floors below its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Each module's floor, as `lib.rs` orders them.
const FLOORS: [(&str, u32); 17] = [
    ("tool", 0),
    ("arguments", 1),
    ("render", 1),
    ("stage", 1),
    ("policy", 1),
    ("ports", 1),
    ("config", 1),
    ("metrics", 1),
    ("process", 2),
    ("runtime", 2),
    ("watch", 2),
    ("registry", 3),
    ("outputs", 3),
    ("dispatch", 4),
    ("agent", 5),
    ("host", 7),
    ("faces", 8),
];

/// Within floor 1 and 2, who may use whom: never in a circle.
const SIDEWAYS: [(&str, &str); 4] = [
    ("ports", "stage"),
    ("config", "policy"),
    ("runtime", "process"),
    ("policy", "stage"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules of this crate that a text names, in `use crate::…`, `crate::a::b` or `use crate::{…}`.
fn named(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 1;
            let mut name = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 1 && (c.is_alphanumeric() || c == '_') {
                    name.push(c);
                } else if depth == 1 && c == ',' {
                    modules.push(std::mem::take(&mut name));
                } else if depth == 1 && c == ':' && !name.ends_with(':') {
                    modules.push(std::mem::take(&mut name));
                    name.push(':');
                } else if depth == 0 {
                    modules.push(name);
                    break;
                }
            }
        } else {
            modules.push(
                rest.chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect(),
            );
        }
    }
    modules.retain(|name| FLOORS.iter().any(|(module, _)| module == name));
    modules
}

#[test]
fn arrows_point_down() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src");
    let floors: BTreeMap<&str, u32> = FLOORS.into();
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut arrows = 0;
    let mut wrong = Vec::new();
    for file in &files {
        let relative = file.strip_prefix(&src).unwrap();
        let own = relative
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs")
            .to_owned();
        if own == "lib" || own == "main" {
            continue;
        }
        let own_floor = *floors
            .get(own.as_str())
            .unwrap_or_else(|| panic!("{own} has no floor: add it to lib.rs and here"));
        for other in named(&fs::read_to_string(file).unwrap()) {
            if other == own {
                continue;
            }
            arrows += 1;
            let floor = floors[other.as_str()];
            let sideways = SIDEWAYS.contains(&(own.as_str(), other.as_str()));
            if floor > own_floor || (floor == own_floor && !sideways) {
                wrong.push(format!(
                    "{} uses `{other}` (floor {floor}, own {own_floor})",
                    relative.display()
                ));
            }
        }
    }
    assert!(
        arrows > 50,
        "only {arrows} arrows were read: the reader is broken"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lib_lists_the_floors_in_order() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/lib.rs"))
        .unwrap();
    let listed: Vec<&str> = lib
        .lines()
        .filter_map(|line| {
            line.trim_start_matches("pub ")
                .strip_prefix("mod ")?
                .strip_suffix(';')
        })
        .collect();
    let floors: BTreeMap<&str, u32> = FLOORS.into();
    let listed_floors: Vec<u32> = listed.iter().map(|module| floors[module]).collect();
    assert!(listed_floors.is_sorted(), "{listed:?}");
    assert_eq!(listed.len(), FLOORS.len(), "{listed:?}");
}

#[test]
fn the_reader_sees_every_form() {
    let seen = named(
        "use crate::{tool::{Batch, host}, ports}; let x = crate::render::text(); $crate::config",
    );
    assert_eq!(seen, ["tool", "ports", "render"]);
}

#[test]
fn only_the_sandbox_names_the_engine() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    for file in files {
        let inside = file.strip_prefix(&src).unwrap().starts_with("runtime");
        let text = fs::read_to_string(&file).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        assert!(
            inside || !code.clone().any(|line| line.contains("wasmtime")),
            "{}",
            file.display()
        );
    }
}
