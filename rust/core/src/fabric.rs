//! stub
#![allow(missing_docs)]
#[derive(Debug, Clone, PartialEq)]
pub struct Fabric {}
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    pub size: u64,
}
#[derive(Debug, Clone, PartialEq)]
pub struct FabricError;
impl Fabric {
    pub fn capacity(&self) -> Option<u64> {
        None
    }
    pub fn group(&self, _devices: u64, size: u64, _stride: u64) -> Result<Group, FabricError> {
        Ok(Group { size })
    }
}
