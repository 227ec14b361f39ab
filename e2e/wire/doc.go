// Package wire keeps what nodes and devices say to the control plane, and what they are told, as recorded messages. A
// later version of berthd has to stand by both: old requests still work, and old readers still find in each answer what
// they found there when it was recorded.
//
// A recording is a story: a file under testdata/<version of the contract>/ whose steps are played in order against a
// berthd of their own. What differs from run to run stands as a placeholder.
//
// "as" says who asks: an operator, whose token is added, or a node, for which the ingress assertion is made by the rules
// of that version; a body goes out as application/json. What a device or an agent proves itself by stands in the step.
//
// In a request, {{name}} is a value that an earlier answer bound. The others are made: {{unix +60}} is a time in seconds,
// {{random n}} 128 random bits, {{key k}} an Ed25519 public key, {{certificate c spiffe://… 24h}} a certificate (PEM) and
// {{fingerprint c}} its digest, {{csr k}} a certificate request (PEM) by that key, {{age s}} an age recipient, {{seal k s}} that key's signature of it,
// {{signed}} the JWT of the step's "sign", {{sha256}} the digest of its body, hex, and {{sha256url}} in base64url, and
// {{registry}} the host of a registry with the image app:1. What is made under a name is the same each time in a story.
//
// In an answer, {{:type}} is any value of a type (string, number, bool, time), {{name:type}} also binds it, or has to be
// what was bound, and {{name}} has to be what was bound. An answer is compared with its recording by what the recording
// has: a member that was added since is none of its business.
//
// What is no JSON is compared as JSON: a text as a string, an archive as an object of its files.
//
// To record a new endpoint, write a story without its answers and run the tests with -update: an answer that has no
// status yet is filled in, one that has is left as it is.
package wire
