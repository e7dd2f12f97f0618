//! The real program, serving on a port of its own, and a client that writes HTTP by hand:
//! what a well-behaved client would never send has to be sent too.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{PROBE, PROGRAM};

/// Longer than anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A user, an agent who may little, and a client who may less.
const CONFIG: &str = r#"
[host]
plugin_dir = "plugins"
data_dir = "data"
[plugins.files.grants]
fs = [{ host = "workspace", mode = "rw" }]
[plugins.cmd.grants.process]
programs = ["sh"]
cwd = ["workspace"]
env = ["PATH"]
[principals.assistant]
kind = "agent"
allow = ["files_*"]
ask = ["files_delete"]
deny = [{ tool = "files_*", when = [{ at = "/path", glob = "**/.env" }] }]
[principals.prober]
kind = "client"
allow = ["echo", "sleep_parallel"]
"#;

const FAST: &str = "rate_limit = { per_second = 100000, burst = 100000 }";

/// A folder with a configuration, and what is needed to start the program there.
pub(crate) struct Site {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Site {
    /// `serve` is the inside of `[serve]`.
    pub(crate) fn new(serve: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["workspace", "plugins", "home"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("plugins/probe.wasm"), PROBE).unwrap();
        fs::write(
            root.join("toolgate.toml"),
            format!("{CONFIG}[serve]\n{serve}\n"),
        )
        .unwrap();
        Self {
            _folder: folder,
            root,
        }
    }

    /// With limits that no test meets by chance.
    pub(crate) fn fast() -> Self {
        Self::new(FAST)
    }

    pub(crate) fn program(&self) -> Command {
        let home = self.root.join("home");
        let mut program = Command::new(PROGRAM);
        program
            .env_clear()
            .env("HOME", &home)
            // Compiled code is shared by all tests: a component takes seconds to compile.
            .env("TOOLGATE_HOST_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"))
            .env("TOOLGATE_CONFIG", self.root.join("toolgate.toml"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    }

    /// Exit code, standard output, standard error.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let ended = self.program().args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ended.status.code(), text(ended.stdout), text(ended.stderr))
    }

    /// A new token of this principal.
    pub(crate) fn token(&self, principal: &str) -> String {
        let (code, out, err) = self.run(&["token", "new", principal]);
        assert_eq!(code, Some(0), "{err}");
        out.trim().to_owned()
    }

    pub(crate) fn serve(&self) -> Served {
        self.serve_with(&[])
    }

    /// With another address than a free port of this machine alone.
    pub(crate) fn serve_at(&self, listen: &str) -> Served {
        self.start(&["serve", "--listen", listen])
    }

    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Served {
        self.start(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat())
    }

    fn start(&self, arguments: &[&str]) -> Served {
        let mut child = self.program().args(arguments).spawn().unwrap();
        let lines: Arc<(Mutex<Vec<String>>, Condvar)> = Arc::default();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn({
            let lines = Arc::clone(&lines);
            move || {
                for line in stderr.lines() {
                    lines.0.lock().unwrap().push(line.unwrap());
                    lines.1.notify_all();
                }
            }
        });
        let mut served = Served {
            child,
            lines,
            address: ([0, 0, 0, 0], 0).into(),
        };
        let line = served.until_said("listening on http://");
        let address = line.split("http://").nth(1).unwrap();
        let end = address.find(['"', ' ']).unwrap_or(address.len());
        served.address = address[..end].parse().unwrap();
        served
    }
}

/// A running program.
pub(crate) struct Served {
    pub(crate) child: Child,
    lines: Arc<(Mutex<Vec<String>>, Condvar)>,
    pub(crate) address: SocketAddr,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// The line on standard error that says this, once it is there.
    pub(crate) fn until_said(&self, what: &str) -> String {
        let started = Instant::now();
        let mut lines = self.lines.0.lock().unwrap();
        loop {
            if let Some(line) = lines.iter().find(|line| line.contains(what)) {
                return line.clone();
            }
            assert!(
                started.elapsed() < PATIENCE,
                "never said: {what}\n{lines:#?}"
            );
            lines = self
                .lines
                .1
                .wait_timeout(lines, Duration::from_secs(1))
                .unwrap()
                .0;
        }
    }

    pub(crate) fn said(&self) -> Vec<String> {
        self.lines.0.lock().unwrap().clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn ended(&mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(
                started.elapsed() < PATIENCE,
                "it goes on: {:#?}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Exactly these bytes, then everything that comes back.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        Answer::read(stream)
    }

    /// With these headers besides `Host`, unless they have one.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut stream = self.connect();
        self.send(&mut stream, method, path, headers, body);
        Answer::read(stream)
    }

    pub(crate) fn send(
        &self,
        stream: &mut TcpStream,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if method == "POST" {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .unwrap();
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> Answer {
        self.ask("GET", path, &[bearer(token).as_header()], "")
    }

    pub(crate) fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        let bearer = bearer(token);
        let headers = [bearer.as_header(), ("Content-Type", "application/json")];
        self.ask("POST", path, &headers, &body.to_string())
    }

    /// One call's result.
    #[track_caller]
    pub(crate) fn call(&self, token: &str, name: &str, arguments: &Value) -> Value {
        let body = json!({ "name": name, "arguments": arguments });
        self.post(token, "/api/v1/call", &body).expect(200).json()
    }

    /// A call whose answer is not waited for.
    pub(crate) fn begin(&self, token: &str, name: &str, arguments: &Value) -> TcpStream {
        let mut stream = self.connect();
        let bearer = bearer(token);
        let headers = [bearer.as_header(), ("Content-Type", "application/json")];
        let body = json!({ "name": name, "arguments": arguments }).to_string();
        self.send(&mut stream, "POST", "/api/v1/call", &headers, &body);
        stream
    }
}

pub(crate) struct Bearer(String);

pub(crate) fn bearer(token: &str) -> Bearer {
    Bearer(format!("Bearer {token}"))
}

impl Bearer {
    pub(crate) fn as_header(&self) -> (&str, &str) {
        ("Authorization", &self.0)
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let (status, headers) = parse_head(head);
        Self {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have == name);
        found.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// An error with its three words, and this reason.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, reason: &str) -> Self {
        let this = self.expect(status);
        let body = this.json();
        assert_eq!(body["reason"], reason, "{body}");
        for word in ["detail", "hint"] {
            assert!(
                body[word].as_str().is_some_and(|text| !text.is_empty()),
                "{body}"
            );
        }
        assert_eq!(this.header("content-type"), Some("application/json"));
        this
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn parse_head(head: &str) -> (u16, Vec<(String, String)>) {
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    });
    (status.parse().unwrap(), headers.collect())
}

/// A reader of server-sent events.
pub(crate) struct Events {
    stream: BufReader<TcpStream>,
    text: String,
}

/// One event, or what is said about the stream.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl Events {
    /// Begins, and has read that the stream is open.
    pub(crate) fn open(served: &Served, token: &str) -> Self {
        let mut events = Self::after(served, token, None);
        let first = events.next().unwrap();
        assert_eq!(first.kind, "open", "{first:?}");
        events
    }

    pub(crate) fn after(served: &Served, token: &str, last: Option<&str>) -> Self {
        let mut stream = served.connect();
        let bearer = bearer(token);
        let mut headers = vec![bearer.as_header()];
        headers.extend(last.map(|id| ("Last-Event-ID", id)));
        served.send(&mut stream, "GET", "/api/v1/events", &headers, "");
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let (status, headers) = parse_head(head.trim_end());
        assert_eq!(status, 200, "{headers:?}");
        Self {
            stream,
            text: String::new(),
        }
    }

    /// None: the stream has ended. Signs of life are passed over.
    pub(crate) fn next(&mut self) -> Option<Seen> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim().to_owned())
                };
                let seen = field("data:").map(|data| Seen {
                    id: field("id:").unwrap_or_default(),
                    kind: field("event:").unwrap_or_default(),
                    data: serde_json::from_str(&data).unwrap(),
                });
                self.text = rest.to_owned();
                if seen.is_some() {
                    return seen;
                }
            }
            let mut size = String::new();
            if self.stream.read_line(&mut size).unwrap() == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            if size == 0 {
                return None;
            }
            self.text
                .push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
    }

    /// The next one of this kind.
    pub(crate) fn until(&mut self, kind: &str) -> Seen {
        loop {
            let seen = self.next().unwrap_or_else(|| panic!("no {kind} came"));
            if seen.kind == kind {
                return seen;
            }
        }
    }
}
