//! What every command begins with: the configuration, a host, and on whose behalf.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{
    Who, approver::TerminalApprover, console::StandardConsole, environment::Environment,
    output::Output, problem::Problem, terminal,
};
use crate::{
    Host, HostBuilder,
    config::{Config, Request},
    process::Shim,
    tool::Principal,
};

/// After this a person wonders what is going on.
const PATIENCE: Duration = Duration::from_millis(700);

/// One run of the program.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) out: &'a Output,
    explicit: Option<PathBuf>,
    environment: Environment,
}

impl<'a> Context<'a> {
    pub(super) fn new(explicit: Option<PathBuf>, out: &'a Output) -> Result<Self, Problem> {
        Ok(Self {
            out,
            explicit,
            environment: Environment::read()?,
        })
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// As given by `--config`.
    pub(super) fn explicit(&self) -> Option<&PathBuf> {
        self.explicit.as_ref()
    }

    /// Where to look for the configuration.
    pub(super) fn request(&self) -> Request {
        Request {
            explicit: self.explicit.clone(),
            start: self.environment.start.clone(),
            env: self.environment.variables.clone(),
            dirs: self.environment.dirs.clone(),
        }
    }

    /// The configuration; what is doubtful in it goes to standard error.
    pub(super) fn config(&self) -> Result<Config, Problem> {
        let config = Config::load(&self.request())?;
        for warning in &config.warnings {
            self.out.warning(warning);
        }
        Ok(config)
    }

    /// A host of this configuration.
    pub(super) async fn host(&self, config: Config) -> Result<Host, Problem> {
        let mut builder = self.builder(config);
        if terminal::is_there() {
            builder = builder.approver(Arc::new(TerminalApprover::default()));
        }
        self.build(builder).await
    }

    /// A host for callers elsewhere. The person at this terminal, if there is one, does
    /// not know what they are about, and is not asked.
    pub(super) async fn serving_host(&self, config: Config) -> Result<Host, Problem> {
        let host = self.build(self.builder(config)).await?;
        self.say_what_is_missing(&host);
        Ok(host)
    }

    fn builder(&self, config: Config) -> HostBuilder {
        HostBuilder::new(config)
            .reread(self.request())
            .shim(Shim::CurrentExe)
            .console(Arc::new(StandardConsole::new(self.out.wants_json())))
            .host_env(self.environment.variables.clone())
    }

    async fn build(&self, builder: HostBuilder) -> Result<Host, Problem> {
        let mut build = Box::pin(builder.build());
        let built = tokio::select! {
            built = &mut build => built,
            () = tokio::time::sleep(PATIENCE) => {
                if terminal::is_there() {
                    self.out.note("compiling plugins; kept for the next time …");
                }
                build.await
            }
        };
        built.map_err(|error| {
            Problem::failed(error.to_string()).hint("`toolgate doctor` looks for the cause")
        })
    }

    /// A host that is about to run calls: what is missing from it is said aloud.
    pub(super) async fn working_host(&self, config: Config) -> Result<Host, Problem> {
        let host = self.host(config).await?;
        self.say_what_is_missing(&host);
        Ok(host)
    }

    fn say_what_is_missing(&self, host: &Host) {
        for problem in host.problems() {
            self.out.warning(&problem);
        }
        for (name, entry) in host
            .catalog()
            .plugins()
            .filter(|(_, entry)| entry.plugin.is_none())
        {
            let why = entry.problems.first().map_or("", String::as_str);
            self.out
                .warning(&format!("plugin {name} is not loaded: {why}"));
        }
    }

    /// On whose behalf.
    pub(super) fn principal(&self, host: &Host, who: &Who) -> Result<Principal, Problem> {
        let config = host.config();
        let id = who.principal.as_deref().unwrap_or(&config.host.acts_as.cli);
        host.principal(id).ok_or_else(|| {
            let policy = &config.policy;
            let known: Vec<&str> = policy.iter().map(|(id, _)| id).collect();
            Problem::usage(format!("the configuration has no principal `{id}`"))
                .hint(format!("it has: {}", known.join(", ")))
        })
    }
}
