//! Write Toolgate tools as plain Rust functions.
//!
//! A tool is a function: its doc comment is the description that models read, its
//! arguments struct is the JSON Schema, its `Result` is the result. A whole plugin:
//!
//! ```
//! use toolgate_sdk::{ToolError, arguments, plugin, tool};
//! #[arguments]
//! struct Hello {
//!     /// Whom to greet.
//!     name: String,
//! }
//! /// Greets somebody.
//! #[tool(parallel_safe, read_only)]
//! fn hello(args: Hello) -> Result<String, ToolError> {
//!     Ok(format!("Hello, {}!", args.name))
//! }
//! plugin! { name: "hello", tools: [hello] }
//! # fn main() {}
//! ```
//!
//! Build it as a `cdylib` with `cargo build --release --target wasm32-wasip2` and put
//! the `.wasm` into the host's plugin folder. The file's stem is the plugin's name.
//!
//! # What a tool may answer
//!
//! `Result<T, E>` where `T` is anything that serialises (the structured value), or
//! [`Output`] with media blocks; `E` is [`ToolError`], or [`Failure`] where there is a
//! value to report in spite of the failure. A panic ends the call as `trapped`.
//!
//! # Limits
//!
//! One call lives in one fresh instance: statics start anew each time. 64 MiB of
//! memory, 60 s, 1 MiB of result unless the operator says otherwise. Link with
//! `-zstack-size=131072`: instances are then several times cheaper to make.

#[doc(hidden)]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../wit/tool@0.1.0", "../wit/host@0.1.0", "../wit/plugin@0.1.0"],
        world: "toolgate:plugin/plugin@0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_plugin",
        default_bindings_module: "toolgate_sdk::bindings",
        runtime_path: "::toolgate_sdk::wit_bindgen_rt",
        generate_all,
    });
}

// The macros and the generated code name this crate by its outside name.
extern crate self as toolgate_sdk;

pub mod files;
pub mod log;
mod outcome;
pub mod process;
pub mod progress;
#[doc(hidden)]
pub mod schema;
pub mod settings;
mod tool;
pub mod tools;

pub use bindings::toolgate::tool::types::{
    Block, Capability, Ctx as Context, Failure, Hints, Output, PluginInfo, PrincipalKind, ToolDef,
    ToolError,
};
pub use outcome::ToolResult;
pub use tool::{NoArguments, Tool};
pub use toolgate_sdk_macros::{arguments, tool};

/// The guide's snippets, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../docs/plugin-authors.md")]
mod guide {}

#[doc(hidden)]
pub use {schemars, serde, serde_json, wit_bindgen::rt as wit_bindgen_rt};

/// Makes a component of this crate: `plugin! { name: "…", tools: [a, b] }`.
///
/// Also takes, between the two, `description: "…"` and `capabilities: { fs: "why" }`
/// (`fs`, `data`, `process`, `tools`, `env`, `http`). The version is the crate's.
#[macro_export]
macro_rules! plugin {
    (
        name: $name:literal,
        $(description: $description:literal,)?
        $(capabilities: { $($capability:ident: $reason:literal),* $(,)? },)?
        tools: [$($tool:path),* $(,)?] $(,)?
    ) => {
        #[doc(hidden)]
        #[derive(Debug)]
        pub struct ToolgatePlugin;

        impl $crate::bindings::exports::toolgate::tool::tool::Guest for ToolgatePlugin {
            fn describe() -> $crate::PluginInfo {
                #[allow(unused_mut, unused_assignments, clippy::allow_attributes, reason = "optional parts of the macro")]
                let mut description = ::core::env!("CARGO_PKG_DESCRIPTION");
                $(description = $description;)?
                $crate::PluginInfo {
                    name: $name.into(),
                    version: ::core::env!("CARGO_PKG_VERSION").into(),
                    description: description.into(),
                    tools: vec![$(<$tool as $crate::Tool>::definition()),*],
                    capabilities: vec![$($($crate::Capability {
                        name: ::core::stringify!($capability).into(),
                        reason: $reason.into(),
                    }),*)?],
                }
            }

            fn call(
                context: $crate::Context,
                name: String,
                arguments: String,
            ) -> ::core::result::Result<$crate::Output, $crate::Failure> {
                $(if name == <$tool as $crate::Tool>::NAME {
                    return <$tool as $crate::Tool>::call(&context, &arguments);
                })*
                Err($crate::ToolError::new("internal", format!("this plugin has no tool `{name}`")).into())
            }
        }

        #[cfg(target_family = "wasm")]
        $crate::bindings::export_plugin!(ToolgatePlugin with_types_in $crate::bindings);
    };
}
