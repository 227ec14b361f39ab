// Package harness starts the built berthd as a process of its own and speaks to it over HTTP alone: as an operator with
// a token, as the ingress that asserts nodes, and as devices. Every answer is checked against the OpenAPI document that
// the server itself serves.
package harness
