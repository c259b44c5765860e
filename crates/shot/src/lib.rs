//! shot
