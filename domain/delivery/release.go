package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Bounds of releases.
const (
	MaxRequirements = 32
	MaxExternals    = 32
	MaxSource       = 1 << 20 // bytes
)

// NewRelease makes a release: what r says, put in order, with its digest. Source names an object, and Images were found in
// it. Invalid, each problem named by its field: invalid_id, version_invalid, source_kind_unknown, source_digest_invalid,
// requirements_too_many, requirement_invalid, constraint_invalid, externals_too_many, external_invalid, and those of
// CheckParameters.
func NewRelease(r Release, now time.Time) (Release, error) {
	errs := within("parameters", CheckParameters(r.Parameters)...)
	errs = append(errs, within("requires", checkRequirements(r)...)...)
	errs = append(errs, within("externals", checkExternals(r.Externals)...)...)
	errs = append(errs, ident.Check("app", r.App))
	if err := CheckVersion(r.Version); err != nil {
		errs = append(errs, err.At("version"))
	}
	if r.Kind != SourceManifests && r.Kind != SourceHelm {
		errs = append(errs, invalid("source_kind_unknown", "a source is manifests or helm").At("source.kind"))
	}
	if !validSHA256(r.Source) {
		errs = append(errs, invalid("source_digest_invalid", "a source is named by its SHA-256 in hex").At("source"))
	}
	if err := fault.All(errs...); err != nil {
		return Release{}, err
	}
	r = r.ordered()
	r.CreatedAt, r.Digest = ident.Instant(now), r.digest()
	return r, nil
}

func checkRequirements(r Release) []*fault.Error {
	if len(r.Requires) > MaxRequirements {
		return []*fault.Error{invalid("requirements_too_many", "a release requires at most %d apps", MaxRequirements)}
	}
	var errs []*fault.Error
	seen := map[string]bool{}
	for i, q := range r.Requires {
		found := checkRequirement(r.App, q)
		if err := ident.Check("app", q.App); err != nil {
			found = append(found, err)
		}
		if seen[q.App] {
			found = append(found, invalid("requirement_invalid", "the app %q is required twice", q.App).At("app"))
		}
		seen[q.App] = true
		errs = append(errs, within(strconv.Itoa(i), found...)...)
	}
	return errs
}

// externalKinds are what a release may name that is not its own.
//
//nolint:gochecknoglobals // an immutable table
var externalKinds = []string{"ConfigMap", "PersistentVolumeClaim", "Secret", "Service"}

func checkExternals(externals []string) []*fault.Error {
	if len(externals) > MaxExternals {
		return []*fault.Error{invalid("externals_too_many", "a release names at most %d externals", MaxExternals)}
	}
	var errs []*fault.Error
	for i, e := range externals {
		kind, name, _ := strings.Cut(e, "/")
		if !slices.Contains(externalKinds, kind) || !dnsName(name) {
			errs = append(errs, invalid("external_invalid", "an external is Kind/name, of the kinds %s", strings.Join(externalKinds, ", ")).
				At(strconv.Itoa(i)).Curable("write it like Secret/registry-login"))
		}
	}
	return errs
}

// ordered returns the release with its lists in the one order that they are kept and hashed in.
func (r Release) ordered() Release {
	r.Parameters = slices.SortedFunc(slices.Values(r.Parameters), func(a, b Parameter) int { return cmp.Compare(a.Name, b.Name) })
	r.Requires = slices.SortedFunc(slices.Values(r.Requires), func(a, b Requirement) int { return cmp.Compare(a.App, b.App) })
	r.Externals = slices.Compact(slices.Sorted(slices.Values(r.Externals)))
	r.Images = slices.Compact(slices.Sorted(slices.Values(r.Images)))
	return r
}

// digest is the SHA-256 of what the release is rendered and judged by.
func (r Release) digest() string {
	type parameter struct {
		Name, Type       string
		Default          *string `json:",omitempty"`
		Required         bool
		Secret           bool
		CustomerSettable bool
		Pattern          string
		Values           []string
	}
	content := struct {
		Kind, Source string
		Parameters   []parameter
		Requires     []Requirement
		Externals    []string
		SchemaGate   bool
	}{Kind: string(r.Kind), Source: r.Source, Requires: r.Requires, Externals: r.Externals, SchemaGate: r.SchemaGate}
	for _, p := range r.Parameters {
		out := parameter{p.Name, string(p.Type), nil, p.Required, p.Secret, p.CustomerSettable, p.Pattern, slices.Collect(slices.Values(p.Values))}
		if p.HasDefault {
			out.Default = &p.Default
		}
		content.Parameters = append(content.Parameters, out)
	}
	text, err := json.Marshal(content)
	if err != nil { // strings and booleans only
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Digest returns the name of an object by its content: SHA-256 in hex.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
