//! Clusters: a [`Fabric`](foregather_machine::Fabric) made of libfabric, which is found at run time.
