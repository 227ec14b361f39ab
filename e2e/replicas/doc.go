// Package replicas runs berthd as production does: containers of the image that is shipped, several replicas on one
// Postgres, and an ingress that reaches them by mutual TLS. It breaks what can break, one thing a test, and speaks to them
// over HTTP alone. Each test is a scenario; its name says what happens.
package replicas
