//! Attribute macros of `toolgate-sdk`; documented there. Each is a few lines that
//! call a function of its own file and turn its error into a compile error.

mod arguments;
mod tool;

use proc_macro::TokenStream;

/// Makes a struct usable as a tool's arguments; see `toolgate_sdk::arguments`.
#[proc_macro_attribute]
pub fn arguments(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(arguments::expand(options.into(), item.into()))
}

/// Makes a function a tool; see `toolgate_sdk::tool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(tool::expand(options.into(), item.into()))
}

fn expanded(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
