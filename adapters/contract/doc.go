// Package contract is what crosses the wire: messages, header names and the problem table. The server serves exactly
// these types and its OpenAPI is generated from them; clients send and read them. It imports no web framework.
//
// Numbers that grow are integers below 2^53. Times are RFC 3339 in UTC. A field that is absent means "not given", never
// zero. The tags doc, minimum, maximum, maxLength and example are read by the OpenAPI generator.
package contract

// Header names of the outer contract.
const (
	HeaderAssertion      = "Berth-Ingress-Assertion"
	HeaderInstallID      = "Berth-Install-Id"
	HeaderLicenseKey     = "Berth-License-Key"
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderRequestID      = "X-Request-Id"
	HeaderReplayed       = "Idempotency-Replayed"
	HeaderTraceparent    = "Traceparent" // W3C Trace Context
)

// Limits of the outer contract.
const (
	MaxBody   = 1 << 20 // bytes of any request body
	MaxHeader = 64 << 10
	MaxWait   = 30 // seconds a long poll may wait
)
