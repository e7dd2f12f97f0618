//! Released WIT never changes: plugins that were built against it keep loading.

use std::{fs, path::Path};

use toolgate::tool::Digest;

/// Folder, file, and SHA-256 of each released file. A new version is a new folder.
const RELEASED: [(&str, &str, &str); 6] = [
    (
        "host@0.1.0",
        "files.wit",
        "b3df77a7fb12801a513ea1bbbe88e32f72c2c60cc1991ae2500068785c11ab0d",
    ),
    (
        "host@0.1.0",
        "log.wit",
        "abbd6d9a6cb558a937977dffaaf89bd07448c469ec6f152b088cfd374426eacf",
    ),
    (
        "host@0.1.0",
        "process.wit",
        "80c0b59ce19846d1a86b02b0430487cf55957186d434fcf3dc56208fc7998f9d",
    ),
    (
        "host@0.1.0",
        "tools.wit",
        "a827d0ada4cd77f32e122303cf0cf8a8b276334c88e8c62efd09cc7836712ec4",
    ),
    (
        "plugin@0.1.0",
        "plugin.wit",
        "34da0a959f01adff64bd73085ceb10ca91b1632689b7a9170725649741719284",
    ),
    (
        "tool@0.1.0",
        "tool.wit",
        "f5122a3062150423a0d4c29d1f58779e53a938ed57c580d203476236cc5e7785",
    ),
];

#[test]
fn released_wit_never_changes() {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let mut found = Vec::new();
    for folder in fs::read_dir(&wit).unwrap() {
        let folder = folder.unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            let digest = Digest::of(&fs::read(file.path()).unwrap()).hex();
            found.push((
                folder.file_name().into_string().unwrap(),
                file.file_name().into_string().unwrap(),
                digest,
            ));
        }
    }
    found.sort();
    let mut wanted: Vec<_> = RELEASED
        .map(|(folder, file, digest)| (folder.to_owned(), file.to_owned(), digest.to_owned()))
        .into();
    wanted.sort();
    assert_eq!(found, wanted);
}
