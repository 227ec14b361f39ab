// Package authority is the control plane as a node sees it, in the words of the domain: what a node asks, and what it is
// told. What it does with the answers is decided by domain/placement and domain/authorization.
//
// Requests and answers may be lost, late and doubled: every method that changes something can be repeated. Instants of
// the caller's clock are taken before a call, since that is what ages and leases are counted from (P9, A6).
//
// Beside the faults named at each method every one may return
//
//   - Unavailable, where no answer came: whether the request was carried out is unknown. RetryAfter is kept to;
//   - Unauthenticated credential_unknown, credential_revoked, credential_superseded, credential_expired,
//     credential_not_yet_valid and Forbidden credential_of_another_node, where the node's certificate is not accepted;
//   - Unauthenticated certificate_refused, where whoever ends TLS does not take the certificate, so that nobody was asked;
//   - Forbidden node_retired;
//   - Exhausted rate_limited;
//   - Internal unexpected_answer, where something else answered than a control plane of this contract.
package authority
