package quantity

import (
	"math/big"
	"strings"

	"berth/domain/fault"
)

// maxText is the longest quantity that is read, in bytes.
const maxText = 64

// MilliCPU reads a quantity of CPUs as thousandths of one, rounded up. Faults: Invalid quantity_invalid, quantity_too_large.
func MilliCPU(text string) (int64, *fault.Error) { return read(text, 3) }

// Bytes reads a quantity of bytes, rounded up to whole ones. Faults: as MilliCPU.
func Bytes(text string) (int64, *fault.Error) { return read(text, 0) }

// Check accepts any quantity that is not below zero and of which neither the whole units nor their thousandths exceed
// 2^63-1. Faults: as MilliCPU.
func Check(text string) *fault.Error {
	_, err := read(text, 3)
	return err
}

// read returns text × 10^scale, rounded up.
func read(text string, scale int) (int64, *fault.Error) {
	p, ok := split(text)
	if !ok {
		return 0, fault.New(fault.Invalid, "quantity_invalid", "this is no Kubernetes quantity of zero or more").
			Curable("write it like 2, 500m, 1.5 or 8Gi")
	}
	n := p.scaled(scale)
	if !n.IsInt64() {
		return 0, fault.New(fault.Invalid, "quantity_too_large", "this quantity is larger than Berth counts")
	}
	return n.Int64(), nil
}

// parts are a quantity's: digits × 10^decimal × 2^binary.
type parts struct {
	digits  string
	decimal int
	binary  uint
}

// scaled returns the quantity × 10^scale, rounded up.
func (p parts) scaled(scale int) *big.Int {
	n, _ := new(big.Int).SetString(p.digits, 10) // nothing but digits, and at least one
	n.Lsh(n, p.binary)
	exponent := p.decimal + scale
	if exponent >= 0 {
		return n.Mul(n, power(exponent))
	}
	rest := new(big.Int)
	if n.QuoRem(n, power(-exponent), rest); rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	return n
}

func power(exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
}

func split(text string) (parts, bool) {
	if len(text) > maxText {
		return parts{}, false
	}
	rest := strings.TrimPrefix(text, "+")
	whole, rest := digits(rest)
	fraction := ""
	if after, dotted := strings.CutPrefix(rest, "."); dotted {
		fraction, rest = digits(after)
	}
	decimal, binary, ok := suffix(rest)
	if !ok || whole+fraction == "" {
		return parts{}, false
	}
	return parts{whole + fraction, decimal - len(fraction), binary}, true
}

// digits returns the digits that a text begins with, and what follows them.
func digits(text string) (found, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// unit is what a suffix multiplies with.
type unit struct {
	decimal int
	binary  uint
}

var units = map[string]unit{ //nolint:gochecknoglobals // an immutable table
	"n": {decimal: -9}, "u": {decimal: -6}, "m": {decimal: -3}, "": {},
	"k": {decimal: 3}, "M": {decimal: 6}, "G": {decimal: 9}, "T": {decimal: 12}, "P": {decimal: 15}, "E": {decimal: 18},
	"Ki": {binary: 10}, "Mi": {binary: 20}, "Gi": {binary: 30}, "Ti": {binary: 40}, "Pi": {binary: 50}, "Ei": {binary: 60},
}

func suffix(text string) (decimal int, binary uint, ok bool) {
	if u, ok := units[text]; ok {
		return u.decimal, u.binary, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, 0, false
	}
	decimal, ok = exponent(text[1:])
	return decimal, 0, ok
}

// maxExponent is beyond every exponent that still makes a difference: with it, any number of maxText digits is too large
// to be counted, or smaller than the smallest unit.
const maxExponent = 4 * maxText

// exponent reads the signed whole number behind an E. One that makes no difference any more is brought within the bound,
// so that nothing is ever raised to a power that a caller chose.
func exponent(text string) (int, bool) {
	sign := 1
	switch {
	case strings.HasPrefix(text, "-"):
		sign, text = -1, text[1:]
	case strings.HasPrefix(text, "+"):
		text = text[1:]
	}
	found, rest := digits(text)
	if found == "" || rest != "" {
		return 0, false
	}
	n := 0
	for i := 0; i < len(found) && n <= maxExponent; i++ {
		n = n*10 + int(found[i]-'0')
	}
	return sign * min(n, maxExponent), true
}
