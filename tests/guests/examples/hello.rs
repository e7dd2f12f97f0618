use toolgate_sdk::{ToolError, arguments, plugin, tool};
#[arguments]
struct Hello {
    /// Whom to greet.
    name: String,
}
/// Greets somebody.
#[tool(parallel_safe, read_only)]
fn hello(args: Hello) -> Result<String, ToolError> {
    Ok(format!("Hello, {}!", args.name))
}
plugin! { name: "hello", tools: [hello] }
