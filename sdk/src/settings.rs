//! The operator's `[plugins.<name>.settings]`.

use serde::de::DeserializeOwned;

use crate::ToolError;

/// # Errors
///
/// Where the operator's settings do not fit `T`: the detail names the key.
pub fn get<T: DeserializeOwned>() -> Result<T, ToolError> {
    #[cfg(target_family = "wasm")]
    let text = crate::bindings::toolgate::host::settings::get();
    #[cfg(not(target_family = "wasm"))]
    let text = String::from("{}");
    serde_json::from_str(&text).map_err(|error| {
        ToolError::new("settings", error.to_string())
            .hint("the operator sets these under [plugins.<name>.settings]")
    })
}
