// Package proof tries every way past the ingress that we know of, against a deployment as it stands (I2, I3, I4). It
// writes its own bytes over its own TLS, so that no HTTP client makes them tidy, and it shares nothing with the ingress:
// to it a deployment is a black box.
//
// Run takes a Site, which says where the listeners are and what the caller holds, and gives a Report: for each Probe what
// it tries, what must happen, and what did. What could not be tried is not proven, and says why; it never counts as
// passed. Package prooftest has proxies that leak on purpose, by which the proof itself is proved.
package proof
