// Package delivery is what a customer's cluster is to run and what it does run: apps and their releases, deployments,
// intents, the desired state that agents pull, their reports, and the verdicts on them (E2–E8, D1–D4, G5, G10).
//
// One law rules it: a deployment's desired state has a revision that only grows, each revision is made in one
// transaction and never changed, and whoever holds a higher one refuses it.
package delivery
