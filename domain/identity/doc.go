// Package identity says who a caller is and whether that may still be believed: SPIFFE ids and certificates of relay
// nodes (I1, I5), the ingress's assertions about them (I2–I4), signing keys and their windows (I6, I9), operator
// tokens, and secrets that work once.
//
// Everything here is a pure function of its arguments: the time is passed in, random bytes are made by the caller, and
// no secret is kept longer than the call. Whatever is unclear is refused. A fault of kind Unauthenticated means that the
// caller was not proved; Forbidden means that it was, and that this request is not the one it was proved for.
package identity
