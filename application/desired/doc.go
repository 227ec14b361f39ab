// Package desired holds the use cases of what a customer's cluster is to run and of the agent that makes it so:
// deployments and their selected services, the signed desired state, polls and reports, enrolment, secret parameters,
// delivery packages (E2, E5, E6, D1–D4, G1, G2, K1).
//
// Publish is the one way in which a desired state changes. What a change needs from elsewhere (a rendering, images in
// registries, a signature) is fetched before; then one transaction reads everything again, and commits only what was
// decided on the very state that it finds.
//
// Whoever waits for a deployment subscribes to the topic install/<id>.
package desired
