//! One model talking to the tools. What a model says is untrusted: its calls go the way of
//! every call, its broken streams become errors that name what was wrong.

pub mod model;
