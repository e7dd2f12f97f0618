//! `#[tool]`: beside the function, an uninhabited type of the same name that carries
//! the definition. Functions and types live in different namespaces, so both fit.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, ReturnType, Token, Type,
    parse::Parser, punctuated::Punctuated,
};

const OPTIONS: &str = "parallel_safe, serial, read_only, destructive, idempotent, open_world, \
                       output, name = \"…\", title = \"…\", timeout = \"30s\"";

#[derive(Default)]
struct Options {
    name: Option<String>,
    title: Option<String>,
    timeout_ms: Option<u64>,
    flags: Vec<String>,
}

impl Options {
    fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)? {
            let unknown = || Error::new_spanned(&meta, format!("unknown option; known: {OPTIONS}"));
            let key = meta.path().get_ident().ok_or_else(unknown)?.to_string();
            match &meta {
                Meta::Path(_) => match key.as_str() {
                    "parallel_safe" | "serial" | "read_only" | "destructive" | "idempotent"
                    | "open_world" | "output" => options.flags.push(key),
                    _ => return Err(unknown()),
                },
                Meta::NameValue(pair) => {
                    let Expr::Lit(ExprLit {
                        lit: Lit::Str(text),
                        ..
                    }) = &pair.value
                    else {
                        return Err(Error::new_spanned(&pair.value, "expected a string"));
                    };
                    match key.as_str() {
                        "name" => options.name = Some(text.value()),
                        "title" => options.title = Some(text.value()),
                        "timeout" => {
                            let Some(ms) = milliseconds(&text.value()) else {
                                return Err(Error::new_spanned(
                                    text,
                                    "expected \"500ms\", \"30s\" or \"5m\"",
                                ));
                            };
                            options.timeout_ms = Some(ms);
                        }
                        _ => return Err(unknown()),
                    }
                }
                Meta::List(_) => return Err(unknown()),
            }
        }
        Ok(options)
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }
}

fn milliseconds(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let options = Options::parse(options)?;
    let function: ItemFn = syn::parse2(item)?;
    let ident = &function.sig.ident;
    let visibility = &function.vis;

    let name = options.name.clone().unwrap_or_else(|| ident.to_string());
    if !is_tool_name(&name) {
        return Err(Error::new_spanned(
            ident,
            format!("`{name}` is no tool name: [a-z][a-z0-9_]{{0,63}}"),
        ));
    }
    let description = doc_text(&function.attrs);
    if description.is_empty() {
        return Err(Error::new_spanned(
            ident,
            "a tool needs a doc comment: it is the description that models read",
        ));
    }

    // Hygienic, so that a tool may be called `context` or `arguments` itself.
    let context = Ident::new("context", Span::mixed_site());
    let bound = Ident::new("arguments", Span::mixed_site());
    let mut arguments: Option<&Type> = None;
    let mut call = Vec::new();
    for input in &function.sig.inputs {
        let FnArg::Typed(input) = input else {
            return Err(Error::new_spanned(input, "a tool is a free function"));
        };
        if matches!(&*input.ty, Type::Reference(_)) {
            call.push(quote!(#context));
        } else if arguments.replace(&input.ty).is_none() {
            call.push(quote!(#bound));
        } else {
            return Err(Error::new_spanned(
                input,
                "a tool takes its arguments struct and, if wanted, `&Context`",
            ));
        }
    }
    let nothing: Type = syn::parse_quote!(::toolgate_sdk::NoArguments);
    let arguments = arguments.unwrap_or(&nothing);
    let ReturnType::Type(_, result) = &function.sig.output else {
        return Err(Error::new_spanned(
            &function.sig,
            "a tool returns `Result<T, ToolError>`",
        ));
    };

    let output_schema = if options.has("output") {
        quote!(Some(::toolgate_sdk::schema::of::<<#result as ::toolgate_sdk::ToolResult>::Value>()))
    } else {
        quote!(None)
    };
    let title = optional(options.title.as_deref());
    let timeout = optional(options.timeout_ms);
    let hint = |flag: &str| {
        if options.has(flag) {
            quote!(Some(true))
        } else {
            quote!(None)
        }
    };
    let (read_only, destructive) = (hint("read_only"), hint("destructive"));
    let (idempotent, open_world) = (hint("idempotent"), hint("open_world"));
    let (parallel_safe, serial) = (options.has("parallel_safe"), options.has("serial"));

    Ok(quote! {
        #function

        #[doc(hidden)]
        #[expect(non_camel_case_types, reason = "carries the definition of the function beside it")]
        #visibility enum #ident {}

        impl ::toolgate_sdk::Tool for #ident {
            const NAME: &'static str = #name;

            fn definition() -> ::toolgate_sdk::ToolDef {
                ::toolgate_sdk::ToolDef {
                    name: #name.into(),
                    title: #title,
                    description: #description.into(),
                    parameters: ::toolgate_sdk::schema::of::<#arguments>(),
                    output_schema: #output_schema,
                    parallel_safe: #parallel_safe,
                    serial: #serial,
                    hints: ::toolgate_sdk::Hints {
                        read_only: #read_only,
                        destructive: #destructive,
                        idempotent: #idempotent,
                        open_world: #open_world,
                    },
                    timeout_ms: #timeout,
                }
            }

            fn call(
                #context: &::toolgate_sdk::Context,
                #bound: &str,
            ) -> ::core::result::Result<::toolgate_sdk::Output, ::toolgate_sdk::Failure> {
                let _ = #context;
                let #bound: #arguments = ::toolgate_sdk::schema::parse(#bound)?;
                let _ = &#bound;
                ::toolgate_sdk::ToolResult::into_outcome(#ident(#(#call),*))
            }
        }
    })
}

fn optional<T: quote::ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(Some(#value.into())),
        None => quote!(None),
    }
}

fn is_tool_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn doc_text(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
    let text: Vec<String> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned())
        .collect();
    text.join("\n").trim().to_owned()
}
