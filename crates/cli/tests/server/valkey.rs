//! A real valkey-server for a test, on a socket in its own directory.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Timeout of a single read.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running valkey-server, stopped when dropped.
pub(crate) struct Valkey {
    child: Child,
    directory: PathBuf,
}

impl Valkey {
    /// Starts a server without persistence and with the bounds of our server. The name is the test's.
    pub(crate) fn start(name: &str) -> Valkey {
        Valkey::run("valkey-server", name)
    }

    /// Starts Valkey 9: the binary named by `SCURRY_VALKEY9`, else the one that the script has installed.
    pub(crate) fn start_9(name: &str) -> Valkey {
        let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache");
        let cache = std::env::var("SCURRY_TEST_CACHE").unwrap_or(cache.to_owned());
        let named = std::env::var("SCURRY_VALKEY9");
        Valkey::run(&named.unwrap_or(format!("{cache}/valkey-9/bin/valkey-server")), name)
    }

    fn run(program: &str, name: &str) -> Valkey {
        let directory = std::env::temp_dir().join(format!("scurry-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory for the socket");
        let child = Command::new(program)
            .args(["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no"])
            .args(["--proto-max-bulk-len", "8mb", "--daemonize", "no"])
            .current_dir(&directory)
            .stdin(Stdio::null())
            // It logs every CONFIG SET, and a full pipe would block it.
            .stdout(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            panic!("{program} is missing: run scripts/install-tools.sh");
        };
        let socket = directory.join("socket");
        while UnixStream::connect(&socket).is_err() {
            let ended = child.try_wait().expect("its state");
            assert!(ended.is_none(), "valkey-server did not start: {ended:?}");
            std::thread::yield_now();
        }
        Valkey { child, directory }
    }

    /// Returns the path of its socket.
    pub(crate) fn socket(&self) -> String {
        self.directory.join("socket").display().to_string()
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.directory.join("socket")).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time-out is set");
        stream
    }
}

impl Drop for Valkey {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
