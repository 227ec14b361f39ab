// Package yamldoc reads the YAML of Kubernetes objects, strictly: what two readers could understand in two ways is refused
// and never guessed (D2). It bounds what it reads before it works on it.
//
// Refused are anchors, aliases, tags, merge keys, keys that are given twice or are no text, numbers that JSON does not
// have or that do not fit, and numbers in other bases than ten and eight. What YAML 1.1 takes for a boolean or a date and
// YAML 1.2 does not ("on", "yes", 2026-01-31) is text.
package yamldoc
