package audit

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"berth/domain/fault"
)

// The bounds of a draft, in bytes but for MaxDetails.
const (
	MaxDetails     = 32
	MaxDetailKey   = 64
	MaxDetailValue = 1 << 10
	MaxAction      = 64
	MaxSubject     = 256
	MaxActorText   = 256
)

// ActorKind is what sort of party did something.
type ActorKind string

// The kinds.
const (
	ActorOperator ActorKind = "operator"
	ActorNode     ActorKind = "node"
	ActorDevice   ActorKind = "device"
	ActorAgent    ActorKind = "agent"
	ActorCustomer ActorKind = "customer"
	ActorSystem   ActorKind = "system"
)

// Actor is who did something. Source says from where, such as an address or a credential's id; it may be empty.
type Actor struct {
	Kind   ActorKind
	ID     string
	Source string
}

// Draft is what happened, before it has a place in the chain.
type Draft struct {
	At      time.Time
	Actor   Actor
	Action  string            // "tenant.created"
	Subject string            // "tenant/acme"
	Detail  map[string]string // nil and empty are the same
}

// Check refuses a draft that is out of bounds as Invalid, each problem named: audit_time_missing, audit_actor_invalid,
// audit_action_invalid, audit_subject_invalid, audit_detail_invalid. Text is UTF-8 without NUL, which not every store
// could keep.
func (d Draft) Check() error {
	return fault.All(
		unless(!d.At.IsZero(), "audit_time_missing", "at", "an entry says when it happened"),
		unless(d.Actor.valid(), "audit_actor_invalid", "actor", "an actor has a known kind and an id"),
		unless(validAction(d.Action), "audit_action_invalid", "action", "an action reads thing.done in lower case"),
		unless(validSubject(d.Subject), "audit_subject_invalid", "subject", "a subject reads thing/id"),
		unless(validDetail(d.Detail), "audit_detail_invalid", "detail",
			"at most 32 details, each key in snake case and each value at most 1 KiB of text"),
	)
}

func unless(ok bool, slug, field, detail string) *fault.Error {
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, slug, "%s", detail).At(field)
}

func (a Actor) valid() bool {
	switch a.Kind {
	case ActorOperator, ActorNode, ActorDevice, ActorAgent, ActorCustomer, ActorSystem:
		return a.ID != "" && validText(a.ID, MaxActorText) && validText(a.Source, MaxActorText)
	}
	return false
}

func validAction(action string) bool {
	words := strings.Split(action, ".")
	return len(action) <= MaxAction && len(words) > 1 && !slices.ContainsFunc(words, func(word string) bool {
		return !madeOf(word, "_")
	})
}

func validSubject(subject string) bool {
	kind, id, found := strings.Cut(subject, "/")
	if len(subject) > MaxSubject || !found || !madeOf(kind, "-") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(id, "/"), func(part string) bool {
		return part == "." || part == ".." || !validPart(part)
	})
}

func validPart(part string) bool {
	for i := range len(part) {
		if c := part[i]; !alphanumeric(c) && strings.IndexByte("-_.:@", c) < 0 {
			return false
		}
	}
	return part != ""
}

func validDetail(detail map[string]string) bool {
	if len(detail) > MaxDetails {
		return false
	}
	for key, value := range detail {
		if len(key) > MaxDetailKey || !madeOf(key, "_.") || !validText(value, MaxDetailValue) {
			return false
		}
	}
	return true
}

func validText(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// madeOf accepts lower-case letters, digits and the given marks, a letter first.
func madeOf(text, marks string) bool {
	for i := range len(text) {
		c := text[i]
		if !alphanumeric(c) && strings.IndexByte(marks, c) < 0 || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return text != "" && text[0] >= 'a' && text[0] <= 'z'
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
