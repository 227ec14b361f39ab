// Package delivery has the scenarios of what customers are entitled to, what their platforms ask for, and what their
// clusters' agents are told: on SQLite with one process, and on Postgres with two.
package delivery
