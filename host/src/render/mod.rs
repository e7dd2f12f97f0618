//! What readers get to see: text for the model, safe text for a terminal, and what counts
//! as a failure in an older plugin's value. Nothing here is cut, and nothing of a value is
//! changed: it is escaped where a terminal would act on it, and only there.

mod model;
mod shape;
mod terminal;

pub use model::for_model;
pub use shape::failure_shape;
pub use terminal::for_terminal;
