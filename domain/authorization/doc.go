// Package authorization decides who may use a tenant, and how every relay node comes to know it (DESIGN §4, seed 000).
//
// Tenant is the head of one tenant's authorization: its status, and the revision that grows by exactly one with each
// change. Principals (devices), routes and route handles change only through its methods, which return the changes made
// at the new revision; a store writes the head, what was passed in, and the changes in one transaction (A1).
//
//   - Snapshot and Delta are what a node is told: everything, or what changed since a revision (A2, A3).
//   - View is what a node holds and decides by. It counts the age of what it holds from the sending of the request (A6)
//     and refuses whatever is older than what it knows.
//   - Decide is the access table of the internal API (I8).
//
// Everything takes the time as an argument; nothing here reads a clock or makes random bytes. A method that returns a
// fault has changed nothing.
package authorization
