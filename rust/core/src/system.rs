//! stub
#![allow(missing_docs)]
use crate::{device::Device, fabric::Fabric};
#[derive(Debug, Clone)]
pub struct System {
    pub name: String,
    pub device: Device,
    pub fabric: Fabric,
}
