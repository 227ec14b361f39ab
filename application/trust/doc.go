// Package trust holds the use cases of who is believed: the ingress's assertions about nodes and the node certificates
// behind them, the keys that sign device tokens, operators' tokens, and the audit log (DESIGN §5, §11).
//
// Whatever is unclear is refused, each reason by a slug of its own. A refused request changes nothing in the store: the
// nonce of one that mutates travels on as a ticket, which the use case spends in its own transaction (I4).
//
// Keys are made and ended by the signing service outside any transaction; what the database says of them is a
// compare-and-set on the ring as it was read, so that any number of replicas may keep the keys at once.
package trust
