// Package peering is how nodes pass devices' requests on to one another (R3): a listener that takes them from peers, and a
// forwarder that brings them there, over mutual TLS 1.3.
//
// Who is a peer, the node decides, by the certificate that the other end proved to have; the moment it decides otherwise
// the connection is cut, whatever goes on over it. A request carries the generation at which its sender believes the
// receiver to hold the tenant, and never goes any further. The device's token goes along: the receiver verifies it itself.
//
// A WebSocket is passed on as bytes, over a connection of its own. Nothing of it is held but what is on its way, so that
// whoever does not read is not written to, through to the other end. The frames that go to the device are counted, though not
// read: where the connection to the peer is lost between two of them, the device is told to come back.
package peering
