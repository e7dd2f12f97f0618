//! The file of tokens. Written whole, by rename, under a lock that all processes take;
//! read again whenever it has changed, so that a revoked token ends at once.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::{Record, Secret};

const FILE: &str = "tokens.json";

/// Bytes. A record has about 250.
const LARGEST: u64 = 4 << 20;

/// Compared with where there is no such token, so that both take the same time.
const NOBODYS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The tokens of one data folder. Cheap to clone.
#[derive(Clone)]
pub(in crate::faces) struct Tokens(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    read: Mutex<Option<(Stamp, Arc<Vec<Record>>)>>,
}

/// Which file it was: a rename brings another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

/// The file as it is written.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    v: u32,
    tokens: Vec<Record>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {what}", path = .path.display())]
pub(in crate::faces) struct TokenError {
    path: PathBuf,
    what: String,
}

/// A token that holds.
#[derive(Debug, Clone)]
pub(in crate::faces) struct Checked {
    pub(in crate::faces) id: String,
    pub(in crate::faces) principal: String,
}

/// Why a token does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::faces) enum Refusal {
    /// There is none of this id, or its secret is another one. The same for both: nobody
    /// needs to learn which.
    Unknown,
    /// Its time is over.
    Expired,
}

impl Tokens {
    /// Of this data folder; neither has to exist.
    pub(in crate::faces) fn of(data_dir: &Path) -> Self {
        Self(Arc::new(Inner {
            folder: data_dir.to_owned(),
            read: Mutex::default(),
        }))
    }

    /// Whose token this is.
    ///
    /// # Errors
    ///
    /// If the file cannot be used. Nobody is let in then.
    pub(in crate::faces) fn check(
        &self,
        token: &Secret,
        now: Timestamp,
    ) -> Result<Result<Checked, Refusal>, TokenError> {
        let records = self.all()?;
        let record = records.iter().find(|record| record.id == token.id());
        let kept = record.map_or(NOBODYS, |record| &record.sha256);
        let same: bool = kept.as_bytes().ct_eq(token.sha256().as_bytes()).into();
        Ok(match record {
            Some(record) if same && record.has_expired(now) => Err(Refusal::Expired),
            Some(record) if same => Ok(Checked {
                id: record.id.clone(),
                principal: record.principal.clone(),
            }),
            _ => Err(Refusal::Unknown),
        })
    }

    /// Whether a token that held still does.
    pub(in crate::faces) fn still_holds(&self, token: &Checked, now: Timestamp) -> bool {
        self.all().is_ok_and(|records| {
            records.iter().any(|record| {
                record.id == token.id
                    && record.principal == token.principal
                    && !record.has_expired(now)
            })
        })
    }

    /// All of them, oldest first.
    ///
    /// # Errors
    ///
    /// If the file cannot be used.
    pub(in crate::faces) fn all(&self) -> Result<Arc<Vec<Record>>, TokenError> {
        let path = self.path();
        let mut read = self.0.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = match fs::metadata(&path) {
            Ok(found) => Stamp::of(&found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *read = None;
                return Ok(Arc::default());
            }
            Err(error) => return Err(self.error(&error)),
        };
        if let Some((known, records)) = &*read
            && *known == stamp
        {
            return Ok(Arc::clone(records));
        }
        *read = None;
        // The stamp is that of the file that is read, whatever the path means by now.
        let (stamp, records) = self.read_file(&path)?;
        let records = Arc::new(records);
        *read = Some((stamp, Arc::clone(&records)));
        Ok(records)
    }

    /// Makes a token. Only what is returned has the secret.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub(in crate::faces) fn add(
        &self,
        principal: &str,
        name: Option<String>,
        expires: Option<Timestamp>,
    ) -> Result<(Secret, Record), TokenError> {
        self.change(|records| {
            loop {
                let secret = Secret::random().map_err(|error| self.error(&error))?;
                if records.iter().any(|record| record.id == secret.id()) {
                    continue;
                }
                let record = Record {
                    id: secret.id().to_owned(),
                    name,
                    principal: principal.to_owned(),
                    sha256: secret.sha256(),
                    created: Timestamp::now(),
                    expires,
                };
                records.push(record.clone());
                return Ok((secret, record));
            }
        })
    }

    /// Ends a token. None: there is none of this id.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub(in crate::faces) fn remove(&self, id: &str) -> Result<Option<Record>, TokenError> {
        self.change(|records| {
            let at = records.iter().position(|record| record.id == id);
            Ok(at.map(|at| records.remove(at)))
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Record>) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let path = self.path();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0.folder)
            .map_err(|error| self.error(&error))?;
        // A file of its own: the other one is replaced, and a lock on it would go with it.
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.0.folder.join("tokens.lock"))
            .map_err(|error| self.error(&error))?;
        lock.lock().map_err(|error| self.error(&error))?;
        let mut tokens = match self.read_file(&path) {
            Ok((_, records)) => records,
            Err(_) if !path.exists() => Vec::new(),
            Err(error) => return Err(error),
        };
        let changed = change(&mut tokens)?;
        self.replace(&path, &Contents { v: 1, tokens })
            .map_err(|error| self.error(&error))?;
        Ok(changed)
    }

    fn replace(&self, path: &Path, contents: &Contents) -> io::Result<()> {
        let fresh = self.0.folder.join("tokens.json.new");
        // What a crash left behind; nobody else writes it, since the lock is ours.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let written = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)
            .and_then(|mut out| {
                out.write_all(&serde_json::to_vec_pretty(contents)?)?;
                out.sync_all()
            })
            .and_then(|()| fs::rename(&fresh, path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }

    fn read_file(&self, path: &Path) -> Result<(Stamp, Vec<Record>), TokenError> {
        let file = File::open(path).map_err(|error| self.error(&error))?;
        let found = file.metadata().map_err(|error| self.error(&error))?;
        if !found.is_file() || found.len() > LARGEST {
            return Err(self.error(&"this is no file of tokens"));
        }
        // Whoever can write it can be anybody.
        if found.mode() & 0o022 != 0 {
            return Err(self.error(&"others than its owner may write it; chmod 600 it"));
        }
        let mut text = Vec::new();
        file.take(LARGEST)
            .read_to_end(&mut text)
            .map_err(|error| self.error(&error))?;
        // The reader's own words could quote the file.
        let contents: Contents = serde_json::from_slice(&text).map_err(|error| {
            self.error(&format!(
                "it cannot be understood, at line {}; restore it, or remove it and make new tokens",
                error.line()
            ))
        })?;
        if contents.v != 1 {
            return Err(self.error(&"it is of another version of Toolgate"));
        }
        Ok((Stamp::of(&found), contents.tokens))
    }

    fn path(&self) -> PathBuf {
        self.0.folder.join(FILE)
    }

    fn error(&self, what: &dyn std::fmt::Display) -> TokenError {
        TokenError {
            path: self.path(),
            what: what.to_string(),
        }
    }
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tokens").field(&self.0.folder).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use jiff::SignedDuration;

    use super::*;

    fn tokens() -> (tempfile::TempDir, Tokens) {
        let home = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(&home.path().join("data"));
        (home, tokens)
    }

    fn whose(tokens: &Tokens, token: &Secret) -> Result<String, Refusal> {
        let checked = tokens.check(token, Timestamp::now()).unwrap();
        checked.map(|checked| checked.principal)
    }

    #[test]
    fn another_process_sees_a_new_and_a_removed_token_at_once() {
        let (_home, tokens) = tokens();
        let serving = Tokens::of(&tokens.0.folder);
        assert!(serving.all().unwrap().is_empty());
        let (secret, record) = tokens.add("assistant", None, None).unwrap();
        assert_eq!(whose(&serving, &secret).unwrap(), "assistant");
        let checked = serving.check(&secret, Timestamp::now()).unwrap().unwrap();
        assert!(serving.still_holds(&checked, Timestamp::now()));
        assert!(tokens.remove(&record.id).unwrap().is_some());
        assert!(tokens.remove(&record.id).unwrap().is_none());
        assert_eq!(whose(&serving, &secret), Err(Refusal::Unknown));
        assert!(!serving.still_holds(&checked, Timestamp::now()));
    }

    #[test]
    fn a_wrong_secret_is_as_unknown_as_a_wrong_id() {
        let (_home, tokens) = tokens();
        let (a, _) = tokens.add("a", None, None).unwrap();
        let (b, _) = tokens.add("b", None, None).unwrap();
        let secret = |token: &Secret| token.reveal().split_once('_').unwrap().1.to_owned();
        let mixed = format!("tg_{}_{}", a.id(), secret(&b).split_once('_').unwrap().1);
        let wrong = Secret::read(&mixed).unwrap();
        assert_eq!(whose(&tokens, &wrong), Err(Refusal::Unknown));
        let nobody = Secret::read("tg_ffffffffff_x").unwrap();
        assert_eq!(whose(&tokens, &nobody), Err(Refusal::Unknown));
        assert_eq!(whose(&tokens, &b).unwrap(), "b");
    }

    #[test]
    fn a_token_ends_when_its_time_is_over() {
        let (_home, tokens) = tokens();
        let at = Timestamp::now() + SignedDuration::from_hours(1);
        let (secret, _) = tokens.add("a", None, Some(at)).unwrap();
        assert!(tokens.check(&secret, Timestamp::now()).unwrap().is_ok());
        let ended = tokens.check(&secret, at).unwrap();
        assert_eq!(ended.unwrap_err(), Refusal::Expired);
    }

    #[test]
    fn the_file_is_the_owners_and_has_no_secret() {
        let (_home, tokens) = tokens();
        let (secret, _) = tokens.add("a", Some("laptop".into()), None).unwrap();
        let text = fs::read_to_string(tokens.path()).unwrap();
        let token = secret.reveal();
        let (_, hidden) = token.strip_prefix("tg_").unwrap().split_once('_').unwrap();
        assert!(!text.contains(hidden), "{text}");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&tokens.path()), 0o600);
        assert_eq!(mode(&tokens.0.folder), 0o700);
    }

    #[test]
    fn a_file_that_others_may_write_lets_nobody_in() {
        let (_home, tokens) = tokens();
        let (secret, _) = tokens.add("a", None, None).unwrap();
        fs::set_permissions(tokens.path(), fs::Permissions::from_mode(0o622)).unwrap();
        assert!(tokens.check(&secret, Timestamp::now()).is_err());
        fs::set_permissions(tokens.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(tokens.check(&secret, Timestamp::now()).unwrap().is_ok());
        fs::write(tokens.path(), "{\"v\":1,\"tokens\":[{\"sha256\":\"s3cret\"").unwrap();
        let error = tokens.check(&secret, Timestamp::now()).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
        // Nor is it written over.
        assert!(tokens.add("a", None, None).is_err());
    }

    #[test]
    fn writers_do_not_lose_each_others_tokens() {
        let (_home, tokens) = tokens();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let own = Tokens::of(&tokens.0.folder);
                scope.spawn(move || {
                    for _ in 0..5 {
                        own.add(&format!("p{n}"), None, None).unwrap();
                    }
                });
            }
        });
        assert_eq!(tokens.all().unwrap().len(), 40);
    }
}
