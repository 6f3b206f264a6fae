//! The documents, the samples and the packages.

#[cfg(unix)] // commands are run by bash
mod documents;
mod mechanisms;
#[cfg(unix)] // the packages of this host are run by its shell
mod packaging;
mod pages;
#[cfg(unix)] // a shell makes them
mod samples;
