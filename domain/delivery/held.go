package delivery

import (
	"strconv"
	"strings"

	"berth/domain/ident"
)

// Held is a revision that an agent says to hold, by its number and the digest of what was signed. The zero value is
// none.
type Held struct {
	Revision int64
	Digest   string // SHA-256 in hex
}

// HeldOf is what an agent holds that has the head.
func HeldOf(head DesiredRecord) Held { return Held{head.Revision, head.Digest} }

// ETag returns the entity tag of a revision, quotes included (RFC 9110): "<revision>-<digest>".
func (h Held) ETag() string { return `"` + strconv.FormatInt(h.Revision, 10) + "-" + h.Digest + `"` }

// ParseHeld reads an entity tag that ETag wrote. Anything else is not one of ours, as a weak one is: nothing is held by
// it.
func ParseHeld(etag string) (Held, bool) {
	const longest = 16 + 1 + 64 + 2
	if len(etag) > longest || len(etag) < 2 || etag[0] != '"' || etag[len(etag)-1] != '"' {
		return Held{}, false
	}
	number, digest, _ := strings.Cut(etag[1:len(etag)-1], "-")
	revision, ok := parseRevision(number)
	if !ok || !validSHA256(digest) {
		return Held{}, false
	}
	return Held{revision, digest}, true
}

func parseRevision(text string) (int64, bool) {
	if text == "" || text[0] < '1' || text[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n <= ident.MaxCounter
}

// HeldVerdict is how what an agent holds stands to the head.
type HeldVerdict string

// The verdicts.
const (
	HeldUnchanged HeldVerdict = "unchanged" // it has the head
	HeldOlder     HeldVerdict = "older"     // it has an earlier revision of this history, or none: it is to be told
	HeldBehind    HeldVerdict = "behind"    // it has a later revision than there is here: this is an older copy (D4)
	HeldDiverged  HeldVerdict = "diverged"  // it has a revision of another history: this is, or was, an older copy
)

// Verdict judges what an agent holds. recorded is the digest that this history has of Held.Revision where that is below
// the head's; empty where it has none. What lies below the highest revision that was proved is of no account: a leap
// went beyond it.
func (h Held) Verdict(head DesiredRecord, recorded string) HeldVerdict {
	switch {
	case h == Held{}:
		return HeldOlder
	case h.Revision > head.Revision:
		return HeldBehind
	case h.Revision == head.Revision && h.Digest == head.Digest:
		return HeldUnchanged
	case h.Revision == head.Revision:
		return HeldDiverged
	case h.Revision < head.Proven, h.Digest == recorded:
		return HeldOlder
	}
	return HeldDiverged
}
