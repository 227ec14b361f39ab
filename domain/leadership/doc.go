// Package leadership decides which replica of the control plane runs what only one needs to run.
//
// A Term is the row that all replicas see: who leads, in which term, and how often the leader said so. A leader renews
// it, and believes itself leader for a while after it sent what was accepted (Tenure). The others count on their own
// clocks how long they saw the row unchanged (Watch), longer than any leader believes, and then claim the next term. No
// two clocks are compared (P9).
//
// Leadership spares work; it makes nothing safe. A leader can be stopped for any time between two instructions, so each
// step that it takes is a compare-and-set of its own and may be taken by two.
//
// Everything takes the time as an argument; nothing here reads a clock.
package leadership
