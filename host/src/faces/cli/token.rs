//! `toolgate token`: makes, lists and ends the bearer tokens of principals. A running host
//! takes changes up at once.

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    context::Context,
    exit::Exit,
    output::{Tone, cell},
    problem::Problem,
};
use crate::{
    config::Config,
    faces::{
        span,
        tokens::{Record, TokenError, Tokens},
    },
};

/// Characters of a token's name.
const LONGEST_NAME: usize = 64;

#[derive(Debug, Args)]
pub(super) struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token and print it, once
    New(New),
    /// List the tokens, without their secrets
    List,
    /// End a token, in running hosts too
    Revoke(Revoke),
}

#[derive(Debug, Args)]
struct New {
    /// Who the bearer is
    principal: String,
    /// For people: what it is for
    #[arg(long)]
    name: Option<String>,
    /// When it ends: such as 12h or 30d from now [default: never]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

#[derive(Debug, Args)]
struct Revoke {
    /// Its id, as `toolgate token list` shows it
    id: String,
}

pub(super) fn perform(cx: &Context<'_>, args: &Token) -> Result<Exit, Problem> {
    let config = cx.config()?;
    let tokens = Tokens::of(&config.host.data_dir);
    match &args.command {
        Command::New(new) => make(cx, &config, &tokens, new),
        Command::List => list(cx, &config, &tokens),
        Command::Revoke(revoke) => end(cx, &tokens, &revoke.id),
    }
}

fn make(cx: &Context<'_>, config: &Config, tokens: &Tokens, new: &New) -> Result<Exit, Problem> {
    if config.policy.principal(&new.principal).is_none() {
        return Err(unknown(config, &new.principal));
    }
    if let Some(name) = &new.name
        && (name.is_empty() || name.chars().count() > LONGEST_NAME)
    {
        return Err(Problem::usage("that is no name for a token")
            .hint(format!("use 1 to {LONGEST_NAME} characters")));
    }
    let expires = new.expires.as_deref().map(expiry).transpose()?;
    let (secret, record) = tokens
        .add(&new.principal, new.name.clone(), expires)
        .map_err(|error| unusable(&error))?;
    let token = secret.reveal();
    if cx.out.wants_json() {
        let mut all = shown(config, &record);
        if let Value::Object(all) = &mut all {
            all.insert("token".into(), token.into());
        }
        cx.out.json(&all)?;
    } else {
        cx.out.line(&token)?;
    }
    cx.out.note(&format!(
        "this is shown once; whoever has it is {}. `toolgate token revoke {}` ends it",
        record.principal, record.id
    ));
    Ok(Exit::Ok)
}

fn expiry(text: &str) -> Result<Timestamp, Problem> {
    let wrong = || {
        Problem::usage(format!("`--expires {text}` is no length of time"))
            .hint(format!("write {}", span::FORMS))
    };
    let time = span::read(text).filter(|time| !time.is_zero());
    let time = time.and_then(|time| SignedDuration::try_from(time).ok());
    time.and_then(|time| Timestamp::now().checked_add(time).ok())
        .ok_or_else(wrong)
}

fn unknown(config: &Config, given: &str) -> Problem {
    let near = config
        .policy
        .iter()
        .map(|(id, _)| (strsim::jaro_winkler(given, id), id))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = match near {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<&str> = config.policy.iter().map(|(id, _)| id).collect();
            format!("it has: {}", known.join(", "))
        }
    };
    Problem::usage(format!("the configuration has no principal `{given}`")).hint(hint)
}

fn list(cx: &Context<'_>, config: &Config, tokens: &Tokens) -> Result<Exit, Problem> {
    let all = tokens.all().map_err(|error| unusable(&error))?;
    if cx.out.wants_json() {
        let all: Vec<Value> = all.iter().map(|record| shown(config, record)).collect();
        cx.out.json(&all)?;
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        cx.out
            .note("there are no tokens; `toolgate token new PRINCIPAL` makes one");
        return Ok(Exit::Ok);
    }
    let rows: Vec<_> = all
        .iter()
        .map(|record| {
            let state = state(config, record);
            let tone = if state == "ok" { Tone::Good } else { Tone::Bad };
            vec![
                cell(&record.id).tone(Tone::Strong),
                cell(&record.principal),
                cell(state).tone(tone),
                cell(&at(record.created)),
                cell(&record.expires.map_or_else(|| "never".to_owned(), at)),
                cell(record.name.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    cx.out.table(
        &["id", "principal", "state", "created", "expires", "name"],
        &rows,
    )?;
    Ok(Exit::Ok)
}

fn end(cx: &Context<'_>, tokens: &Tokens, id: &str) -> Result<Exit, Problem> {
    // Somebody may have only the token at hand.
    let id = id
        .strip_prefix("tg_")
        .map_or(id, |rest| rest.split('_').next().unwrap_or(rest));
    match tokens.remove(id).map_err(|error| unusable(&error))? {
        Some(record) => {
            cx.out.line(&format!(
                "revoked {}, a token of {}",
                record.id, record.principal
            ))?;
            Ok(Exit::Ok)
        }
        None => Err(Problem::failed(format!("there is no token {id}"))
            .hint("`toolgate token list` shows their ids")),
    }
}

fn shown(config: &Config, record: &Record) -> Value {
    json!({
        "id": record.id,
        "principal": record.principal,
        "name": record.name,
        "created": at(record.created),
        "expires": record.expires.map(at),
        "state": state(config, record),
    })
}

/// Whether a host would take it.
pub(super) fn state(config: &Config, record: &Record) -> &'static str {
    if record.has_expired(Timestamp::now()) {
        "expired"
    } else if config.policy.principal(&record.principal).is_none() {
        "no principal"
    } else {
        "ok"
    }
}

fn at(time: Timestamp) -> String {
    format!("{time:.0}")
}

fn unusable(error: &TokenError) -> Problem {
    Problem::failed(error.to_string()).hint("nothing was changed")
}
