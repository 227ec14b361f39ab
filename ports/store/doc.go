// Package store is the storage port of the control plane: one transaction boundary and a small role per aggregate.
//
// # Contract
//
// Atomically is serializable: its effects are those of some order of whole transactions, what was read in it can not
// change before it commits, and either all of it becomes durable or none. The function may be called again after a
// serialization failure, so it has no effect but through the roles and through variables that it assigns anew on each
// call. It makes no remote call. A store that can not tell whether a commit happened answers Unavailable
// commit_unknown and never success.
//
// View reads one consistent state of the primary, never a replica or a cache (A2). It sees every commit that was
// answered before it was called, holds up no writer and waits for none.
//
// Within either, roles are valid until the function returns, for one goroutine at a time; later they refuse: Internal
// store_over. A role used in a View refuses to write: Internal store_read_only. The context given to the function
// begins no other transaction, Beat or Caller: Internal store_nested. A panic of the function rolls back and goes on.
//
// A call whose context ends before the commit changes nothing and answers Unavailable request_ended.
//
// # Faults
//
// A miss is NotFound "<thing>_not_found", a second Create of one key AlreadyExists "<thing>_exists"; both change
// nothing, and the transaction can go on. A store that is away, full, or out of connections answers Unavailable
// store_unavailable with RetryAfter; one that answers and took too long, store_busy; one that does not let this program
// in, or do what it has to, database_password_unreadable, database_login_refused, database_missing or
// database_rights_missing, which a person has to put right. Anything else is Internal. Errors are classified by code,
// never by their text. A fault that the function itself returns is returned as it is, and rolls back.
//
// # Values
//
// Times are kept to the microsecond and come back in UTC. Strings hold any UTF-8 but NUL; text that can not be held is
// refused by every method that takes it: Invalid invalid_text. Empty and nil lists and maps are the same. What a role
// returns belongs to its caller, and what it was given is copied. Lists are ordered by their key, ascending, text by its
// bytes, and paged by it.
//
// # References
//
// A lease and a credential belong to a node, a handle to a principal, a permission to read to its object. Each may be
// written before what it belongs to; a commit that would leave it without is refused: Internal store_reference_missing.
// Nothing else is looked after: what names a customer, a license or a deployment may be there without it.
package store
