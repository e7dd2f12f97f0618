use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::{Code, FileError, Roots, temporary::Temporary};
use crate::policy::FsGrant;

/// A writable folder `/w`, a read-only one `/ro`, and a folder outside both.
struct Bench {
    top: TempDir,
    roots: Roots,
}

impl Bench {
    fn new() -> Self {
        let top = TempDir::new().unwrap();
        let grant = |name: &str, writable| {
            let host = top.path().join(name);
            fs::create_dir(&host).unwrap();
            FsGrant {
                host,
                guest: format!("/{name}"),
                writable,
            }
        };
        let grants = [grant("w", true), grant("ro", false)];
        fs::create_dir(top.path().join("out")).unwrap();
        fs::write(top.path().join("out/secret"), "secret").unwrap();
        Self {
            roots: Roots::open(&grants).unwrap(),
            top,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    fn put(&self, path: &str, text: &str, mode: u32) {
        fs::write(self.at(path), text).unwrap();
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.at(path)).unwrap().mode() & 0o7777
    }

    fn replace(&self, path: &str, text: &str) -> Result<(), FileError> {
        self.roots.replace(path, text.as_bytes(), false, false)
    }

    fn copy(&self, source: &str, target: &str, overwrite: bool) -> Result<u64, FileError> {
        self.roots
            .copy(source, target, overwrite, false, &AtomicBool::new(false))
    }

    /// Everything under the bench, so that a test sees strays and changes anywhere.
    fn tree(&self) -> Vec<String> {
        fn walk(dir: &Path, top: &Path, into: &mut Vec<String>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                into.push(path.strip_prefix(top).unwrap().display().to_string());
                if fs::symlink_metadata(&path).unwrap().is_dir() {
                    walk(&path, top, into);
                }
            }
        }
        let mut all = Vec::new();
        walk(self.top.path(), self.top.path(), &mut all);
        all.sort();
        all
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, FileError>, code: Code) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code, code, "{}", error.detail);
    error.detail
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn nothing_outside_is_replaced_or_copied() {
    let bench = Bench::new();
    symlink("../out", bench.at("w/dir")).unwrap();
    symlink("../out/secret", bench.at("w/file")).unwrap();
    symlink("file", bench.at("w/chain")).unwrap();
    symlink("../out/new", bench.at("w/dangling")).unwrap();
    symlink(bench.at("out/secret"), bench.at("w/absolute")).unwrap();
    bench.put("w/in", "in", 0o644);
    symlink(bench.at("w/in"), bench.at("w/absolute-inside")).unwrap();
    symlink("../w/in", bench.at("w/out-and-back")).unwrap();
    let before = bench.tree();
    for path in [
        "/w/../out/secret",
        "/w/a/../../out/secret",
        "/out/secret",
        "/wx/secret",
        "/",
        "",
        "w/in",
        "/w/dir/secret",
        "/w/dir/new",
        "/w/file",
        "/w/chain",
        "/w/dangling",
        "/w/absolute",
        "/w/absolute-inside",
        "/w/out-and-back",
    ] {
        refused(bench.replace(path, "gone"), Code::Escapes);
        refused(bench.roots.replace(path, b"", false, true), Code::Escapes);
        refused(bench.copy("/w/in", path, true), Code::Escapes);
        if path != "/w/dangling" {
            refused(bench.copy(path, "/w/stolen", false), Code::Escapes);
        }
    }
    assert_eq!(bench.tree(), before);
    assert_eq!(bench.text("out/secret"), "secret");
    assert_eq!(bench.text("w/in"), "in");
}

#[test]
fn permission_bits_stay_and_special_bits_go() {
    let bench = Bench::new();
    for mode in [0o755, 0o600, 0o444, 0o666] {
        bench.put("w/a", "old", mode);
        bench.replace("/w/a", "new").unwrap();
        assert_eq!(
            (bench.mode("w/a"), bench.text("w/a").as_str()),
            (mode, "new")
        );
    }
    bench.put("w/s", "old", 0o6755);
    bench.replace("/w/s", "new").unwrap();
    assert_eq!(bench.mode("w/s"), 0o755);
    bench.copy("/w/s", "/w/t", false).unwrap();
    assert_eq!(bench.mode("w/t"), 0o755);
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let bench = Bench::new();
    fs::write(bench.at("w/usual"), "").unwrap();
    bench.replace("/w/new", "new").unwrap();
    assert_eq!(bench.mode("w/new"), bench.mode("w/usual"));
    assert_eq!(bench.tree().len(), 6, "{:?}", bench.tree());
}

#[test]
fn a_link_inside_stays_and_its_target_changes() {
    let bench = Bench::new();
    fs::create_dir_all(bench.at("w/deep/er")).unwrap();
    bench.put("w/deep/target", "old", 0o600);
    symlink("../target", bench.at("w/deep/er/one")).unwrap();
    symlink("deep/er/one", bench.at("w/two")).unwrap();
    symlink("deep/made", bench.at("w/dangling")).unwrap();
    bench.replace("/w/two", "new").unwrap();
    bench.replace("/w/dangling", "made").unwrap();
    assert_eq!(bench.text("w/deep/target"), "new");
    assert_eq!(bench.mode("w/deep/target"), 0o600);
    assert_eq!(bench.text("w/deep/made"), "made");
    for link in ["w/deep/er/one", "w/two", "w/dangling"] {
        assert!(bench.at(link).is_symlink(), "{link}");
    }
    symlink("circle", bench.at("w/circle")).unwrap();
    refused(bench.replace("/w/circle", ""), Code::Other);
}

#[test]
fn another_hard_link_keeps_the_old_content() {
    let bench = Bench::new();
    bench.put("w/a", "old", 0o644);
    fs::hard_link(bench.at("w/a"), bench.at("w/b")).unwrap();
    bench.replace("/w/a", "new").unwrap();
    assert_eq!(
        (bench.text("w/a"), bench.text("w/b")),
        ("new".into(), "old".into())
    );
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let bench = Bench::new();
    fifo(&bench.at("w/fifo"));
    symlink("fifo", bench.at("w/to-fifo")).unwrap();
    let _socket = UnixListener::bind(bench.at("w/socket")).unwrap();
    bench.put("w/a", "a", 0o644);
    fs::create_dir(bench.at("w/dir")).unwrap();
    let before = bench.tree();
    for path in ["/w/fifo", "/w/to-fifo", "/w/socket"] {
        refused(bench.replace(path, ""), Code::Unsupported);
        refused(bench.copy(path, "/w/b", true), Code::Unsupported);
        refused(bench.copy("/w/a", path, true), Code::Unsupported);
    }
    for path in ["/w/dir", "/w/dir/.", "/w", "/w/"] {
        refused(bench.replace(path, ""), Code::IsDirectory);
        refused(bench.copy(path, "/w/b", true), Code::IsDirectory);
        refused(bench.copy("/w/a", path, true), Code::IsDirectory);
    }
    refused(bench.replace("/w/a/b", ""), Code::Other);
    refused(bench.replace("/w/nul\0", ""), Code::Other);
    refused(
        bench.replace(&format!("/w/{}", "n".repeat(300)), ""),
        Code::Other,
    );
    assert_eq!(bench.tree(), before);
}

#[test]
fn a_folder_granted_for_reading_is_only_read() {
    let bench = Bench::new();
    bench.put("ro/a", "a", 0o640);
    refused(bench.replace("/ro/a", ""), Code::ReadOnly);
    refused(bench.copy("/ro/a", "/ro/b", false), Code::ReadOnly);
    assert_eq!(bench.copy("/ro/a", "/w/a", false), Ok(1));
    assert_eq!(
        (bench.text("w/a").as_str(), bench.mode("w/a")),
        ("a", 0o640)
    );
}

#[test]
fn the_innermost_grant_decides() {
    let top = TempDir::new().unwrap();
    fs::create_dir_all(top.path().join("inner")).unwrap();
    let grant = |host: PathBuf, guest: &str, writable| FsGrant {
        host,
        guest: guest.into(),
        writable,
    };
    let roots = Roots::open(&[
        grant(top.path().into(), "/w", true),
        grant(top.path().join("inner"), "/w/inner/", false),
    ])
    .unwrap();
    refused(
        roots.replace("/w/inner/a", b"", false, false),
        Code::ReadOnly,
    );
    refused(
        roots.replace("/w/x/../inner/a", b"", false, true),
        Code::Escapes,
    );
    roots.replace("/w/./innermost", b"", false, false).unwrap();
}

#[test]
fn create_new_and_no_overwrite_touch_nothing_that_is_there() {
    let bench = Bench::new();
    bench.put("w/a", "a", 0o644);
    symlink("nowhere", bench.at("w/dangling")).unwrap();
    let before = bench.tree();
    for path in ["/w/a", "/w/dangling"] {
        refused(bench.roots.replace(path, b"new", true, false), Code::Exists);
        refused(bench.copy("/w/a", path, false), Code::Exists);
    }
    assert_eq!((bench.tree(), bench.text("w/a")), (before, "a".into()));
    bench.roots.replace("/w/new", b"new", true, false).unwrap();
    assert_eq!(bench.text("w/new"), "new");
}

#[test]
fn a_name_taken_in_the_last_moment_is_not_replaced() {
    let bench = Bench::new();
    let place = bench.roots.target("/w/a").unwrap();
    let entry = place.entry(false, false).unwrap();
    let new = Temporary::beside(&entry, None).unwrap();
    bench.put("w/a", "theirs", 0o644);
    let error = new.put(&entry.name, true).unwrap_err();
    assert_eq!(place.failed(&error).code, Code::Exists);
    assert_eq!(bench.text("w/a"), "theirs");
    assert_eq!(fs::read_dir(bench.at("w")).unwrap().count(), 1);
}

#[test]
fn parents_are_made_only_when_wanted() {
    let bench = Bench::new();
    refused(bench.replace("/w/x/y/a", ""), Code::NotFound);
    refused(bench.copy("/w/x/none", "/w/x/y/a", false), Code::NotFound);
    assert!(!bench.at("w/x").exists());
    bench.roots.replace("/w/x/y/a", b"a", true, true).unwrap();
    assert_eq!(bench.text("w/x/y/a"), "a");
}

#[test]
fn a_stopped_copy_leaves_nothing() {
    let bench = Bench::new();
    bench.put("w/a", "a", 0o644);
    let before = bench.tree();
    let stopped = bench
        .roots
        .copy("/w/a", "/w/b", false, false, &AtomicBool::new(true));
    refused(stopped, Code::Other);
    assert_eq!(bench.tree(), before);
}

#[test]
fn readers_see_one_whole_version_while_many_replace() {
    let bench = Bench::new();
    let texts: Vec<String> = ('a'..='d').map(|c| c.to_string().repeat(100_000)).collect();
    bench.put("w/a", &texts[0], 0o640);
    let created = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| {
                for _ in 0..20 {
                    bench.replace("/w/a", text).unwrap();
                    assert!(texts.contains(&bench.text("w/a")));
                }
                if bench
                    .roots
                    .replace("/w/once", text.as_bytes(), true, false)
                    .is_ok()
                {
                    created.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(created.into_inner(), 1, "`create_new` lets exactly one win");
    assert_eq!(bench.mode("w/a"), 0o640);
    assert_eq!(fs::read_dir(bench.at("w")).unwrap().count(), 2);
}

#[test]
fn a_missing_folder_is_named() {
    let missing = PathBuf::from("/nowhere/at/all");
    let grant = FsGrant {
        host: missing.clone(),
        guest: "/w".into(),
        writable: true,
    };
    assert_eq!(Roots::open(&[grant]).unwrap_err().0, missing);
}

#[test]
fn a_link_into_a_folder_granted_for_reading_is_no_way_to_write_there() {
    let top = TempDir::new().unwrap();
    fs::create_dir_all(top.path().join("inner")).unwrap();
    fs::write(top.path().join("inner/a"), "old").unwrap();
    fs::write(top.path().join("b"), "new").unwrap();
    symlink("inner", top.path().join("folder")).unwrap();
    symlink("inner/a", top.path().join("file")).unwrap();
    let grant = |host: PathBuf, guest: &str, writable| FsGrant {
        host,
        guest: guest.into(),
        writable,
    };
    let roots = Roots::open(&[
        grant(top.path().into(), "/w", true),
        grant(top.path().join("inner"), "/w/inner", false),
    ])
    .unwrap();
    for path in ["/w/file", "/w/folder/a", "/w/folder/new", "/w/folder/x/new"] {
        let replaced = roots.replace(path, b"new", false, true);
        assert_eq!(replaced.unwrap_err().code, Code::ReadOnly, "{path}");
        let copied = roots.copy("/w/b", path, true, true, &AtomicBool::new(false));
        assert_eq!(copied.unwrap_err().code, Code::ReadOnly, "{path}");
    }
    let inner = top.path().join("inner");
    assert_eq!(fs::read_to_string(inner.join("a")).unwrap(), "old");
    assert_eq!(fs::read_dir(inner).unwrap().count(), 1);
    roots.replace("/w/x/new", b"new", false, true).unwrap();
}
