//! From bytes to something that can be called: check what they are, compile or fetch the
//! code, link. Every kind of wrong file has its own error.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use wasmtime::component::{Component as Compiled, InstancePre};

use super::{
    Code, CodeCache, Described, Engines, abi, abi::v0_1, instance, sandbox::Sandbox,
    state::CallState,
};
use crate::tool::{Digest, PluginName};

/// Larger files are no plugins. A Python guest has some 20 MB.
pub(crate) const MAX_BYTES: usize = 256 << 20;

const EMPTY: &str = "the file is empty";

/// A component that can be called.
#[derive(Clone)]
pub struct Component(Arc<Inner>);

struct Inner {
    engines: Engines,
    digest: Digest,
    pooled: Option<Linked>,
    on_demand: OnceLock<Result<Linked, String>>,
    code: Code,
}

/// Linked once, in the version that the component speaks.
pub(super) enum Linked {
    V0_1(v0_1::PluginPre<CallState>),
}

/// Why bytes are no plugin, for its author.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentError {
    /// Not WebAssembly at all.
    #[error("no WebAssembly file: {found}")]
    NotWasm {
        /// What it looks like.
        found: &'static str,
    },
    /// A core module, not a component.
    #[error(
        "a core module, where a component is needed; build for the target wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// Compiled code.
    #[error(
        "compiled native code, which is never loaded from a plugin folder; put the .wasm component there"
    )]
    NativeCode,
    /// Larger than any plugin.
    #[error("{size} bytes; the limit is {MAX_BYTES}")]
    TooLarge {
        /// Bytes.
        size: usize,
    },
    /// Cut short, or not valid.
    #[error("not a complete component: {0}")]
    Invalid(String),
    /// A component, but no plugin.
    #[error("exports no `toolgate:tool/tool`, so it is no Toolgate plugin, or its end is missing; this host speaks {offered}", offered = abi::WORLD)]
    NoPlugin,
    /// A version that this host does not speak.
    #[error("wants {wanted}; this host offers {offered}")]
    Version {
        /// As the component has it.
        wanted: String,
        /// What this host speaks.
        offered: String,
    },
    /// Does not fit together with what the host offers.
    #[error("cannot be linked: {0}")]
    Link(String),
    /// Its `describe` failed.
    #[error("its `describe` failed: {0}")]
    Describe(String),
}

impl ComponentError {
    /// So a file looks that is still being written, too.
    pub(crate) fn may_be_unfinished(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::NoPlugin => true,
            Self::NotWasm { found } => *found == EMPTY,
            _ => false,
        }
    }
}

impl Component {
    /// Compiles, or takes the code of this digest from the cache. Takes from a millisecond to seconds of
    /// all cores: call it off the call path.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes.
    pub fn load(
        engines: &Engines,
        cache: &CodeCache,
        bytes: &[u8],
        digest: Digest,
    ) -> Result<Self, ComponentError> {
        sniff(bytes)?;
        let (engine, _) = engines.on_demand();
        let code = match cache.get(digest, engine) {
            Some(code) => code,
            None => {
                let code = engines
                    .compiling()
                    .run(|| engine.precompile_component(bytes))
                    .map_err(|error| ComponentError::Invalid(brief(&error)))?;
                cache.put(digest, engine, &code);
                Code::from(code)
            }
        };
        let pooled = match engines.pooled() {
            Some((engine, linker)) => match deserialize(engine, &code) {
                Ok(compiled) => Some(Linked::new(&compiled, linker.instantiate_pre(&compiled))?),
                // Does not fit the pool's shape: several memories, say.
                Err(_) => None,
            },
            None => None,
        };
        let component = Self(Arc::new(Inner {
            engines: engines.clone(),
            digest,
            pooled,
            on_demand: OnceLock::new(),
            code,
        }));
        if component.0.pooled.is_none() {
            let (engine, linker) = engines.on_demand();
            let compiled = deserialize(engine, &component.0.code)
                .map_err(|error| ComponentError::Invalid(brief(&error)))?;
            let linked = Linked::new(&compiled, linker.instantiate_pre(&compiled))?;
            let _ = component.0.on_demand.set(Ok(linked));
        }
        Ok(component)
    }

    /// Of the component's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// Asks the plugin what it is, with no capability granted, in at most 5 s.
    ///
    /// # Errors
    ///
    /// If it traps, runs too long, or says too much.
    pub async fn describe(&self, name: &PluginName) -> Result<Described, ComponentError> {
        let sandbox = Sandbox::closed(name.clone())
            .map_err(|error| ComponentError::Describe(error.to_string()))?;
        instance::describe(self, Arc::new(sandbox))
            .await
            .map_err(|failure| ComponentError::Describe(failure.error.to_string()))
    }

    pub(super) fn engines(&self) -> &Engines {
        &self.0.engines
    }

    pub(super) fn pooled(&self) -> Option<&Linked> {
        self.0.pooled.as_ref()
    }

    /// Linked at the first need: most components never leave the pool.
    pub(super) fn on_demand(&self) -> Result<&Linked, &str> {
        let linked = self.0.on_demand.get_or_init(|| {
            let (engine, linker) = self.0.engines.on_demand();
            let compiled = deserialize(engine, &self.0.code).map_err(|error| brief(&error))?;
            Linked::new(&compiled, linker.instantiate_pre(&compiled))
                .map_err(|error| error.to_string())
        });
        linked.as_ref().map_err(String::as_str)
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("digest", &self.0.digest)
            .finish_non_exhaustive()
    }
}

impl Linked {
    fn new(
        compiled: &Compiled,
        pre: wasmtime::Result<InstancePre<CallState>>,
    ) -> Result<Self, ComponentError> {
        check_versions(compiled)?;
        let link = |error: &wasmtime::Error| ComponentError::Link(brief(error));
        let pre = pre.map_err(|error| link(&error))?;
        let plugin = v0_1::PluginPre::new(pre).map_err(|error| link(&error))?;
        Ok(Self::V0_1(plugin))
    }
}

/// What the bytes are, by their first eight: said before any compiler sees them.
fn sniff(bytes: &[u8]) -> Result<(), ComponentError> {
    if bytes.len() > MAX_BYTES {
        return Err(ComponentError::TooLarge { size: bytes.len() });
    }
    let not = |found| Err(ComponentError::NotWasm { found });
    match bytes {
        [] => not(EMPTY),
        [0x7f, b'E', b'L', b'F', ..] => Err(ComponentError::NativeCode),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(ComponentError::CoreModule),
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => Ok(()),
        [0, b'a', b's', b'm', ..] => Err(ComponentError::Invalid("the header is cut short".into())),
        _ if b"\0asm".starts_with(bytes) => {
            Err(ComponentError::Invalid("the header is cut short".into()))
        }
        _ if bytes
            .iter()
            .take(64)
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) =>
        {
            not("it looks like text")
        }
        _ => not("it does not begin with the bytes of WebAssembly"),
    }
}

/// Names the version before the linker would fail with less to say.
fn check_versions(compiled: &Compiled) -> Result<(), ComponentError> {
    let engine = compiled.engine();
    let kind = compiled.component_type();
    let exported = kind
        .exports(engine)
        .find_map(|(name, _)| name.strip_prefix(abi::TOOL_EXPORT).map(str::to_owned));
    let Some(version) = exported else {
        return Err(ComponentError::NoPlugin);
    };
    let offered = abi::OFFERED.join(", ");
    if !abi::OFFERED.contains(&version.as_str()) {
        return Err(ComponentError::Version {
            wanted: format!("{}{version}", abi::TOOL_EXPORT),
            offered,
        });
    }
    for (name, _) in kind.imports(engine) {
        let foreign = name.starts_with("toolgate:")
            && name
                .split_once('@')
                .is_none_or(|(_, version)| !abi::OFFERED.contains(&version));
        if foreign {
            return Err(ComponentError::Version {
                wanted: name.to_owned(),
                offered,
            });
        }
    }
    Ok(())
}

#[expect(
    unsafe_code,
    reason = "the bytes are our own compiler's, straight from it or from our cache after its digest was checked"
)]
fn deserialize(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Compiled> {
    // SAFETY: see the reason above; wasmtime itself checks version and settings.
    unsafe { Compiled::deserialize(engine, code) }
}

/// An engine's error on one line, without a backtrace.
fn brief(error: &wasmtime::Error) -> String {
    format!("{error:#}").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_wrong_file_has_its_own_word() {
        let word = |bytes: &[u8]| sniff(bytes).unwrap_err().to_string();
        assert!(word(b"").contains("empty"));
        assert!(word(b"(component)").contains("text"));
        assert!(word(b"\0asm\x01\0\0\0").contains("core module"));
        assert!(word(b"\x7fELF\x02").contains("native code"));
        assert!(word(&[0; 1 << 20]).contains("no WebAssembly"));
        for cut in 1..8 {
            assert!(
                word(&b"\0asm\x0d\0\x01\0"[..cut]).contains("not a complete component"),
                "{cut}"
            );
        }
        assert!(sniff(b"\0asm\x0d\0\x01\0").is_ok());
    }
}
