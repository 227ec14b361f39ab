package delivery

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/quantity"
)

// Bounds of parameters.
const (
	MaxParameters      = 64      // of a release
	MaxParameterValue  = 4 << 10 // bytes
	MaxSecretValue     = 8 << 10 // bytes: a key with its certificates
	maxPattern         = 256     // bytes
	maxEnum            = 64      // values
	maxParameterName   = 63
	parameterSampleInt = 1
)

// Chooser is who chooses parameters' values.
type Chooser string

// The choosers. An operator may set every parameter, a customer what is declared so (E4).
const (
	ByOperator Chooser = "operator"
	ByCustomer Chooser = "customer"
)

// CheckParameters accepts the parameters that a release declares. Invalid, each problem named by its field:
// parameters_too_many, parameter_name_invalid, parameter_repeated, parameter_declaration_invalid, parameter_invalid (the
// default).
func CheckParameters(declared []Parameter) []*fault.Error {
	if len(declared) > MaxParameters {
		return []*fault.Error{invalid("parameters_too_many", "a release has at most %d parameters", MaxParameters)}
	}
	var errs []*fault.Error
	seen := map[string]bool{}
	for i, p := range declared {
		at := strconv.Itoa(i)
		if !ValidParameterName(p.Name) {
			errs = append(errs, invalid("parameter_name_invalid",
				"a parameter's name is a letter and up to 62 letters, digits, '_', '.' and '-'").At(at+".name"))
		}
		if seen[p.Name] {
			errs = append(errs, invalid("parameter_repeated", "the parameter %q is declared twice", p.Name).At(at+".name"))
		}
		seen[p.Name] = true
		errs = append(errs, within(at, p.declaration()...)...)
	}
	return append(errs, nested(declared)...)
}

// nested refuses names of which one is the other's parent: a chart could not be given both.
func nested(declared []Parameter) []*fault.Error {
	var errs []*fault.Error
	for i, p := range declared {
		if slices.ContainsFunc(declared, func(o Parameter) bool { return strings.HasPrefix(p.Name, o.Name+".") }) {
			errs = append(errs, invalid("parameter_name_invalid", "another parameter is named like what %q is within", p.Name).
				At(strconv.Itoa(i)+".name"))
		}
	}
	return errs
}

// ValidParameterName accepts the names that parameters have.
func ValidParameterName(name string) bool {
	if name == "" || len(name) > maxParameterName || !letter(name[0]) || strings.Contains(name, "..") || strings.HasSuffix(name, ".") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune("_.-", rune(c)) {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (p Parameter) declaration() []*fault.Error {
	bad := func(field, format string, args ...any) *fault.Error {
		return invalid("parameter_declaration_invalid", format, args...).At(field)
	}
	var errs []*fault.Error
	switch p.Type {
	case ParameterString, ParameterInt, ParameterBool, ParameterQuantity, ParameterEnum:
	default:
		errs = append(errs, bad("type", "a parameter's type is string, int, bool, quantity or enum"))
	}
	if p.Secret && p.Type != ParameterString {
		errs = append(errs, bad("type", "a secret parameter is a string"))
	}
	if p.Secret && p.HasDefault {
		errs = append(errs, bad("default", "a secret parameter has no default: it would stand in the catalogue in the clear"))
	}
	if p.Pattern != "" && p.Type != ParameterString {
		errs = append(errs, bad("pattern", "only a string has a pattern"))
	}
	if _, err := p.pattern(); err != nil {
		errs = append(errs, bad("pattern", "the pattern is no regular expression (RE2) of at most %d bytes", maxPattern))
	}
	errs = append(errs, p.values(bad)...)
	if len(errs) == 0 && p.HasDefault {
		errs = within("default", p.Check(p.Default))
	}
	return errs
}

func (p Parameter) values(bad func(string, string, ...any) *fault.Error) []*fault.Error {
	switch {
	case p.Type != ParameterEnum && len(p.Values) > 0:
		return []*fault.Error{bad("values", "only an enum has values")}
	case p.Type != ParameterEnum:
		return nil
	case len(p.Values) == 0 || len(p.Values) > maxEnum:
		return []*fault.Error{bad("values", "an enum has 1 to %d values", maxEnum)}
	}
	var errs []*fault.Error
	for i, v := range p.Values {
		if !validValue(v, maxPattern) || slices.Index(p.Values, v) != i {
			errs = append(errs, bad("values."+strconv.Itoa(i), "a value is text of at most %d bytes, and given once", maxPattern))
		}
	}
	return errs
}

// pattern is the expression that the whole value has to match.
func (p Parameter) pattern() (*regexp.Regexp, error) {
	if len(p.Pattern) > maxPattern || !utf8.ValidString(p.Pattern) || strings.ContainsRune(p.Pattern, 0) {
		return nil, invalid("parameter_declaration_invalid", "the pattern is too long, or no text")
	}
	if _, err := regexp.Compile(p.Pattern); err != nil { // by itself: within the group, a stray bracket could close it
		return nil, err
	}
	return regexp.Compile(`\A(?:` + p.Pattern + `)\z`)
}

// Check accepts a value, in the text form of the parameter's type. Fault: Invalid parameter_invalid, which does not repeat
// the value.
func (p Parameter) Check(text string) *fault.Error {
	why := p.wrong(text)
	if why == "" {
		return nil
	}
	return invalid("parameter_invalid", "the value of %q is refused: %s", p.Name, why)
}

func (p Parameter) wrong(text string) string {
	limit := MaxParameterValue
	if p.Secret {
		limit = MaxSecretValue
	}
	if !validValue(text, limit) {
		return "it has more than " + strconv.Itoa(limit) + " bytes, or is no text"
	}
	switch p.Type {
	case ParameterInt:
		return unlessFit(wholeNumber(text), "it is no whole number between -(2^53-1) and 2^53-1, written without leading zeros")
	case ParameterBool:
		return unlessFit(text == "true" || text == "false", "it is neither true nor false")
	case ParameterQuantity:
		return unlessFit(quantity.Check(text) == nil, "it is no Kubernetes quantity of zero or more")
	case ParameterEnum:
		return unlessFit(slices.Contains(p.Values, text), "it is none of "+strings.Join(p.Values, ", "))
	case ParameterString:
		return unlessFit(p.matches(text), "it does not match "+p.Pattern)
	}
	return "its type is unknown"
}

func unlessFit(fits bool, why string) string {
	if fits {
		return ""
	}
	return why
}

func wholeNumber(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text && n >= -ident.MaxCounter && n <= ident.MaxCounter
}

func (p Parameter) matches(text string) bool {
	if p.Pattern == "" {
		return true
	}
	re, err := p.pattern()
	return err == nil && re.MatchString(text)
}

func validValue(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// Decode returns a value that Check accepts as what a document holds: string, int64 or bool.
func (p Parameter) Decode(text string) any {
	switch p.Type {
	case ParameterInt:
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	case ParameterBool:
		return text == "true"
	case ParameterString, ParameterQuantity, ParameterEnum:
	}
	return text
}

// Sample returns a value to try a release with: the default, or one of the type.
func (p Parameter) Sample() string {
	switch {
	case p.HasDefault:
		return p.Default
	case p.Type == ParameterInt, p.Type == ParameterQuantity:
		return strconv.Itoa(parameterSampleInt)
	case p.Type == ParameterBool:
		return "true"
	case p.Type == ParameterEnum && len(p.Values) > 0:
		return p.Values[0]
	}
	return "sample"
}

// Other returns a value of the type that differs from Sample, where there is one. It need not match the pattern: it is for
// finding out what a value reaches.
func (p Parameter) Other() string {
	sample := p.Sample()
	for _, v := range append(slices.Clone(p.Values), map[ParameterType][]string{
		ParameterString: {"sample", "another"}, ParameterInt: {"1", "2"}, ParameterQuantity: {"1", "2"}, ParameterBool: {"true", "false"},
		ParameterEnum: nil,
	}[p.Type]...) {
		if v != sample {
			return v
		}
	}
	return sample
}

// Settle returns the value of every parameter that has one: what was given, else the default. Secrets are not among them
// (SplitSecrets, CheckSecrets). Invalid, each problem named: parameter_unknown, parameter_not_settable, parameter_secret,
// parameter_invalid, parameter_required.
func Settle(declared []Parameter, given map[string]string, by Chooser) (map[string]string, []*fault.Error) {
	errs := unknown(declared, given)
	out := map[string]string{}
	for _, p := range declared {
		value, chosen := given[p.Name]
		switch {
		case chosen && p.Secret:
			errs = append(errs, invalid("parameter_secret", "%q is a secret, and kept apart from other values", p.Name).At(p.Name))
		case p.Secret:
		case chosen:
			errs = append(errs, p.chosen(value, by)...)
			out[p.Name] = value
		case p.HasDefault:
			out[p.Name] = p.Default
		case p.Required:
			errs = append(errs, required(p))
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

func unknown(declared []Parameter, given map[string]string) []*fault.Error {
	var errs []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(declared, func(p Parameter) bool { return p.Name == name }) {
			errs = append(errs, invalid("parameter_unknown", "the release declares no parameter of this name").At(name).
				Curable("leave it out, or choose a release that declares it"))
		}
	}
	return errs
}

func (p Parameter) chosen(value string, by Chooser) []*fault.Error {
	if by == ByCustomer && !p.CustomerSettable {
		return []*fault.Error{invalid("parameter_not_settable", "%q is not for customers to set", p.Name).At(p.Name).
			Curable("leave it out, or ask the vendor to set it")}
	}
	return within(p.Name, p.Check(value))
}

func required(p Parameter) *fault.Error {
	return invalid("parameter_required", "%q has no value, and needs one", p.Name).At(p.Name).Curable("give it a value")
}

// SplitSecrets parts what was given: secret holds the values of secret parameters, plain all others, also unknown ones.
func SplitSecrets(declared []Parameter, given map[string]string) (plain, secret map[string]string) {
	plain, secret = map[string]string{}, map[string]string{}
	for name, value := range given {
		if slices.ContainsFunc(declared, func(p Parameter) bool { return p.Name == name && p.Secret }) {
			secret[name] = value
		} else {
			plain[name] = value
		}
	}
	return plain, secret
}

// CheckSecrets accepts secret values in the clear, as SplitSecrets found them. Invalid, each problem named:
// parameter_not_settable, parameter_invalid. No value is repeated.
func CheckSecrets(declared []Parameter, secret map[string]string, by Chooser) []*fault.Error {
	var errs []*fault.Error
	for _, p := range declared {
		if value, given := secret[p.Name]; given && p.Secret {
			errs = append(errs, p.chosen(value, by)...)
		}
	}
	return errs
}

// MissingSecrets names each secret parameter that needs a value and has none: Invalid parameter_required.
func MissingSecrets(declared []Parameter, has func(name string) bool) []*fault.Error {
	var errs []*fault.Error
	for _, p := range declared {
		if p.Secret && p.Required && !has(p.Name) {
			errs = append(errs, required(p))
		}
	}
	return errs
}
