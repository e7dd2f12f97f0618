//! Media of a result to files. Names come from a tool, so none leads out of the folder,
//! hides, or takes the place of what is there.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::problem::Problem;
use crate::tool::Block;

/// Names that are tried before giving up.
const TRIES: u32 = 1_000;

/// Writes each block to a new file and gives the paths. Makes the folder.
pub(super) fn save(folder: &Path, blocks: &[Block]) -> Result<Vec<PathBuf>, Problem> {
    let fail = |error: io::Error| {
        Problem::failed(format!("the media cannot be saved: {error}"))
            .at(folder.display().to_string())
    };
    fs::create_dir_all(folder).map_err(fail)?;
    let mut saved = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let name = file_name(block, index);
        let (path, mut file) = create(folder, &name).map_err(fail)?;
        file.write_all(&block.data).map_err(fail)?;
        saved.push(path);
    }
    Ok(saved)
}

fn create(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) => (stem, format!(".{extension}")),
        None => (name, String::new()),
    };
    for n in 0..TRIES {
        let number = if n == 0 {
            String::new()
        } else {
            format!("-{n}")
        };
        let path = folder.join(format!("{stem}{number}{extension}"));
        // Only a file that is made here is written: never through a link that lies there.
        match File::options().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn file_name(block: &Block, index: usize) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let last = block
        .name
        .as_deref()
        .and_then(|name| name.rsplit(['/', '\\']).next())
        .unwrap_or_default();
    let name: String = last
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .take(100)
        .collect();
    let name = name.trim_start_matches(['.', '-', '_']);
    if !name.is_empty() {
        return name.to_owned();
    }
    let extension = block.mime.rsplit('/').next().unwrap_or_default();
    let extension: String = extension
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .take(8)
        .collect();
    let extension = if extension.is_empty() {
        "bin"
    } else {
        &extension
    };
    format!("block-{index}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(mime: &str, name: Option<&str>) -> Block {
        Block {
            mime: mime.into(),
            name: name.map(str::to_owned),
            data: "x".into(),
        }
    }

    #[test]
    fn no_name_leads_out_or_hides() {
        for (mime, name, file) in [
            ("image/png", Some("chart.png"), "chart.png"),
            ("image/png", Some("../../etc/passwd"), "passwd"),
            ("image/png", Some("/abs\\..\\x y.png"), "x_y.png"),
            ("image/png", Some(".bashrc"), "bashrc"),
            ("image/png", Some(".."), "block-0.png"),
            ("image/svg+xml", Some(""), "block-0.svg"),
            ("a/../../x", None, "block-0.x"),
            ("", None, "block-0.bin"),
        ] {
            assert_eq!(file_name(&block(mime, name), 0), file, "{name:?}");
        }
        assert_eq!(
            file_name(&block("", Some(&"é".repeat(500))), 0),
            "block-0.bin"
        );
    }

    #[test]
    fn nothing_that_is_there_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        std::os::unix::fs::symlink(&outside, folder.path().join("a.png")).unwrap();
        let saved = save(
            folder.path(),
            &[
                block("image/png", Some("a.png")),
                block("image/png", Some("a.png")),
            ],
        )
        .unwrap();
        assert_eq!(
            saved,
            [folder.path().join("a-1.png"), folder.path().join("a-2.png")]
        );
        assert!(!outside.exists());
    }
}
