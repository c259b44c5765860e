//! The program as people and scripts run it: answers, exit codes, files.

mod bakes;
mod clips;
mod deliver;
mod program;
mod shells;
mod shots;
mod strangers;
mod wedges;
