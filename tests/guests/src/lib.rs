//! The guests are the examples of this package; this library is empty.
