// Package apiclient speaks Berth's HTTP API from the other side: for operators, relay nodes and devices, in the messages
// of the contract. What the server refuses comes back as the fault that it was (by the problem table; of the two kinds
// that share 409 as Conflict), with Retry-After where the server gave one.
//
// Beside the server's own faults every method may return
//
//   - Unauthenticated certificate_refused: the server did not take the client certificate, and nothing was carried out;
//   - Unavailable server_unreachable: no answer came, or not a whole one; whether the request was carried out is unknown;
//   - Unavailable request_ended: the context ended first, likewise;
//   - unexpected_answer, of the kind that its status says: what answered is not a Berth server of this contract.
//
// Nothing is repeated by itself. No error holds a token, an assertion or a body.
package apiclient
