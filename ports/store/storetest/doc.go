// Package storetest proves a store.Store: Run holds one to every law of the port. Beside it stands Memory, a store
// without a disk that keeps the same laws, with faults to order.
package storetest
