// Package operator serves /api/v1 to operators: people and programs with an operator token in the role viewer, operator
// or admin. Handlers translate; what is allowed and what happens is decided in the application.
package operator
