//! Lines for the operator's log. The host escapes control characters, and drops with a
//! count what goes over 256 KiB or 1,000 lines a call (the operator may change both).

#[cfg(target_family = "wasm")]
use crate::bindings::toolgate::host::log as host;

macro_rules! levels {
    ($($name:ident $level:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        #[cfg_attr(not(target_family = "wasm"), expect(unused_variables, reason = "no host in native tests"))]
        pub fn $name(message: &str) {
            #[cfg(target_family = "wasm")]
            host::log(host::Level::$level, message);
        }
    )*};
}

levels! {
    trace Trace "Logs at level trace.";
    debug Debug "Logs at level debug.";
    info Info "Logs at level info.";
    warn Warn "Logs at level warn.";
    error Error "Logs at level error.";
}
