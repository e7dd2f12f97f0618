//! Stub.
toolgate_sdk::plugin! { name: "cmd", tools: [] }
