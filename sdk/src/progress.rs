//! How far a long call is.

/// `done` rises from call to call; `total` is absent where it is unknown.
#[cfg_attr(
    not(target_family = "wasm"),
    expect(unused_variables, reason = "no host in native tests")
)]
pub fn report(done: f64, total: Option<f64>, message: Option<&str>) {
    #[cfg(target_family = "wasm")]
    crate::bindings::toolgate::host::progress::report(done, total, message);
}
