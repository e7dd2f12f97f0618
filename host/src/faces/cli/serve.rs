//! `toolgate serve`: the host behind HTTP, until it is told to end.

use std::{net::SocketAddr, time::Duration};

use clap::Args;

use super::{context::Context, exit::Exit, log::LogFormat, problem::Problem, signals::Signals};
use crate::faces::{
    control::Control,
    http::{Drained, Server},
    tokens::Tokens,
};

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Listen here instead of `serve.listen`; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// How to write the log [default: text to a terminal, json to anything else]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

impl Serve {
    pub(super) fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_else(LogFormat::for_whoever_reads)
    }
}

pub(super) async fn perform(cx: &Context<'_>, args: &Serve) -> Result<Exit, Problem> {
    // From here on a signal is an orderly end, also while plugins compile.
    let mut signals = Signals::listen()?;
    let config = cx.config()?;
    let mut serve = config.serve.clone();
    if let Some(listen) = args.listen {
        serve.listen = listen;
    }
    let drain = serve.drain;
    let tokens = Tokens::of(&config.host.data_dir);
    let host = tokio::select! {
        host = cx.serving_host(config) => host?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    let server = bind(&host, serve, &tokens).await?;
    // Plugins and rights change while it serves; `toolgate reload` reaches it.
    let _watching = host.watch();
    let _control = Control::open(&host).inspect_err(|error| {
        cx.out.warning(&format!(
            "`toolgate reload` cannot reach this host: {error}"
        ));
    });
    greet(cx, &server, &tokens);

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stop = Some(stop);
    let mut serving = Box::pin(server.run(async {
        let _ = stopped.await;
    }));
    loop {
        tokio::select! {
            biased;
            drained = &mut serving => {
                if let Drained::Cancelled(left) = drained {
                    cx.out.warning(&format!("{left} requests had calls that did not end in time; these were cancelled"));
                }
                return Ok(Exit::Ok);
            }
            () = signals.next() => {
                let Some(stop) = stop.take() else {
                    return Ok(Exit::Interrupted);
                };
                cx.out.note(&stopping(drain));
                let _ = stop.send(());
            }
        }
    }
}

async fn bind(
    host: &crate::Host,
    serve: crate::config::ServeConfig,
    tokens: &Tokens,
) -> Result<Server, Problem> {
    let listen = serve.listen;
    Server::bind(host.clone(), serve, tokens.clone())
        .await
        .map_err(|error| {
            Problem::failed(format!("{listen} cannot be listened on: {error}")).hint(
                "end what listens there, or choose another address: `--listen`, or `listen` in [serve]",
            )
        })
}

fn greet(cx: &Context<'_>, server: &Server, tokens: &Tokens) {
    let address = server.address();
    if !address.ip().is_loopback() {
        cx.out.warning(&format!(
            "{address} can be reached from other machines, and there is no TLS here: whoever sees the traffic sees the tokens; put a proxy with TLS in front"
        ));
    }
    match tokens.all() {
        Ok(all) if all.is_empty() => cx.out.warning(
            "there are no tokens, so nobody can call: `toolgate token new PRINCIPAL` makes one",
        ),
        Ok(_) => {}
        Err(error) => cx.out.warning(&format!(
            "nobody can call, for the tokens cannot be used: {error}"
        )),
    }
    cx.out.note(&format!("listening on http://{address}"));
}

fn stopping(drain: Duration) -> String {
    format!("stopping: running calls have {drain:?} to finish (once more ends at once)")
}
