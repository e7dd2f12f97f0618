//! `#[arguments]`: the serde and schemars derives, with the paths of the SDK's own
//! re-exports, so that a plugin depends on the SDK only.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Item};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !options.is_empty() {
        return Err(Error::new_spanned(
            options,
            "`#[arguments]` takes no options",
        ));
    }
    let item: Item = syn::parse2(item)?;
    if !matches!(item, Item::Struct(_) | Item::Enum(_)) {
        return Err(Error::new_spanned(
            item,
            "`#[arguments]` goes on the struct that a tool takes, or on a type inside it",
        ));
    }
    Ok(quote! {
        #[derive(::toolgate_sdk::serde::Deserialize, ::toolgate_sdk::schemars::JsonSchema)]
        #[serde(crate = "::toolgate_sdk::serde")]
        #[schemars(crate = "::toolgate_sdk::schemars")]
        #item
    })
}
