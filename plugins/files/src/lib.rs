//! Stub.
toolgate_sdk::plugin! { name: "files", tools: [] }
