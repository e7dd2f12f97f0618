//! Results of a batch for a person: one head and the first lines of each.

use std::time::Duration;

use super::{
    output::{Output, Tone, cut},
    problem::Problem,
};
use crate::tool::{Block, FailureKind, ToolResult};

/// Lines of one result. `--json` has all of it.
const LINES: usize = 8;

/// In index order.
pub(super) fn show(out: &Output, results: &[ToolResult], elapsed: Duration) -> Result<(), Problem> {
    let width = results
        .iter()
        .map(|result| result.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(40);
    for result in results {
        let (word, tone) = word(result);
        let mode = if result.parallel {
            "parallel"
        } else {
            "serial"
        };
        let head = format!(
            "[{}] {:width$}  {word}  {}  {mode}",
            result.index,
            cut(&result.name, 64),
            time(result.elapsed)
        );
        out.toned(tone, &head)?;
        for line in lines(result, out.width().saturating_sub(4)) {
            out.line(&format!("    {line}"))?;
        }
    }
    let mode = if results.iter().any(|result| result.parallel) {
        let sum = results.iter().map(|result| result.elapsed).sum();
        format!(", in parallel (their times add up to {})", time(sum))
    } else {
        String::new()
    };
    let tally = tally(results);
    out.toned(Tone::Faint, &format!("{tally}; {}{mode}", time(elapsed)))
}

/// Why a call failed, as `error:` and `hint:` lines; nothing for a success.
pub(super) fn failure(result: &ToolResult) -> Vec<String> {
    let Err(failure) = &result.outcome else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for error in [&failure.error].into_iter().chain(&failure.also) {
        let field = error
            .field
            .as_ref()
            .map_or_else(String::new, |field| format!("{field}: "));
        lines.push(format!(
            "error: {field}{}",
            error.detail.as_deref().unwrap_or(&error.reason)
        ));
        lines.extend(error.hint.as_ref().map(|hint| format!("hint: {hint}")));
    }
    lines
}

/// Such as `image/png, 12 KiB, chart.png`.
pub(super) fn describe(block: &Block) -> String {
    let name = block
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!(", {name}"));
    format!("{}, {}{name}", block.mime, size(block.data.len()))
}

/// Media, of a failure too.
pub(super) fn blocks(result: &ToolResult) -> &[Block] {
    match &result.outcome {
        Ok(output) => &output.blocks,
        Err(failure) => &failure.blocks,
    }
}

/// With three figures.
pub(super) fn time(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else if ms < 1_000.0 {
        format!("{ms:.0} ms")
    } else if ms < 10_000.0 {
        format!("{:.2} s", duration.as_secs_f64())
    } else {
        format!("{:.0} s", duration.as_secs_f64())
    }
}

/// Such as `12.3 KiB`.
pub(super) fn size(bytes: usize) -> String {
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    // Tenths by whole numbers: a float would need a lossy cast.
    let (unit, word) = if bytes < 1 << 20 {
        (1 << 10, "KiB")
    } else {
        (1 << 20, "MiB")
    };
    format!("{}.{} {word}", bytes / unit, bytes % unit * 10 / unit)
}

fn word(result: &ToolResult) -> (&'static str, Tone) {
    match &result.outcome {
        Ok(_) => ("ok", Tone::Good),
        Err(failure) if failure.kind == FailureKind::Unauthorized => ("denied", Tone::Warning),
        Err(failure) => (failure.kind.as_str(), Tone::Bad),
    }
}

/// Such as `3 calls: 1 ok, 1 denied, 1 failed`.
fn tally(results: &[ToolResult]) -> String {
    let noun = if results.len() == 1 { "call" } else { "calls" };
    let ok = results.iter().filter(|result| result.success()).count();
    let denied = results
        .iter()
        .filter(|result| word(result).0 == "denied")
        .count();
    let counts = [
        (ok, "ok"),
        (denied, "denied"),
        (results.len() - ok - denied, "failed"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!("{} {noun}: {}", results.len(), counts.join(", "))
}

fn lines(result: &ToolResult, room: usize) -> Vec<String> {
    let mut lines = failure(result);
    let text = match &result.outcome {
        Ok(_) => result.text.clone(),
        Err(failure) => failure.value.as_ref().map_or_else(String::new, |value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        }),
    };
    let mut rest = text.lines();
    lines.extend(
        rest.by_ref()
            .take(LINES)
            .map(|line| cut(line, room).into_owned()),
    );
    let more = rest.count();
    if more > 0 {
        lines.push(format!("… {more} more lines"));
    }
    lines.extend(
        blocks(result)
            .iter()
            .map(|block| format!("[{}]", describe(block))),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(
            [0, 1_023, 1_024, 1_536, (1 << 20) - 1, 3 << 20].map(size),
            [
                "0 B",
                "1023 B",
                "1.0 KiB",
                "1.5 KiB",
                "1023.9 KiB",
                "3.0 MiB"
            ]
        );
        assert_eq!(
            [410_u64, 12_400, 1_500_000].map(|us| time(Duration::from_micros(us))),
            ["0.41 ms", "12 ms", "1.50 s"]
        );
    }
}
