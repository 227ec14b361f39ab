package child

import (
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
)

// impure are the functions of sprig that are refused, and why.
func impure() []string {
	return strings.Fields(`
		ago date dateInZone dateModify date_in_zone date_modify durationRound htmlDate htmlDateInZone mustDateModify mustToDate
		must_date_modify now toDate unixEpoch
		bcrypt encryptAES genCA genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert
		genSignedCertWithKey htpasswd randAlpha randAlphaNum randAscii randBytes randInt randNumeric shuffle uuidv4
		env expandenv getHostByName
	`)
}

// Each function of sprig is decided upon: it is pure, or made to be, or refused. One that a new version brings fails here,
// and is refused until somebody has read it.
func TestEveryFunctionIsDecidedUpon(t *testing.T) {
	t.Parallel()
	all := sprig.TxtFuncMap()
	for name := range all {
		_, isOrdered := ordered()[name]
		decided := 0
		for _, is := range []bool{slices.Contains(pure, name), isOrdered, slices.Contains(impure(), name)} {
			if is {
				decided++
			}
		}
		if decided != 1 {
			t.Errorf("%s is decided upon %d times", name, decided)
		}
	}
	for _, name := range slices.Concat(pure, impure()) {
		if _, ok := all[name]; !ok {
			t.Errorf("sprig has no %s", name)
		}
	}
}

// Each impure function is refused when it is called, by name, also where the engine would have none or another one.
func TestImpureFunctionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range impure() {
		var called impurity
		f, ok := called.functions()[name].(func(...any) (any, error))
		if !ok {
			t.Errorf("%s is not replaced", name)
			continue
		}
		if _, err := f("x", 1); err == nil || called.name != name {
			t.Errorf("%s answers, and is told as %q", name, called.name)
		}
	}
	for _, name := range pure {
		var called impurity
		if _, replaced := called.functions()[name]; replaced {
			t.Errorf("%s is replaced", name)
		}
	}
}
