package quantity

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/fault"
)

// Every suffix counts as Kubernetes counts it, and what is smaller than the unit is rounded up to one of it.
func TestQuantities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ milli, bytes int64 }{
		"0": {0, 0}, "000": {0, 0}, "0.0": {0, 0}, "0e9": {0, 0}, "0Ei": {0, 0}, "0e-999999999999999999999": {0, 0},
		"0e999999999999999999999": {0, 0},
		"1":                       {1000, 1}, "+1": {1000, 1}, "01": {1000, 1}, "1.": {1000, 1}, ".5": {500, 1}, "1.5": {1500, 2}, "0.1": {100, 1},
		"500m": {500, 1}, "1m": {1, 1}, "1500m": {1500, 2}, "1000m": {1000, 1},
		"1u": {1, 1}, "1n": {1, 1}, "1001u": {2, 1}, "1000u": {1, 1}, "1000001n": {2, 1}, "0.0001": {1, 1}, "1e-20": {1, 1},
		"1e-99999999999999999999": {1, 1},
		"1k":                      {1e6, 1e3}, "1M": {1e9, 1e6}, "1G": {1e12, 1e9}, "1T": {1e15, 1e12}, "1P": {1e18, 1e15},
		"1Ki": {1024e3, 1 << 10}, "1Mi": {1 << 20 * 1000, 1 << 20}, "1Gi": {1 << 30 * 1000, 1 << 30}, "8Gi": {8 << 30 * 1000, 8 << 30},
		"1Ti": {1 << 40 * 1000, 1 << 40}, "1Pi": {1 << 50 * 1000, 1 << 50}, "1.5Gi": {1536 << 20 * 1000, 1536 << 20},
		"0.1Ki": {102400, 103}, "12e3": {12e6, 12e3}, "12E3": {12e6, 12e3}, "1e+2": {1e5, 100}, "15e-1": {1500, 2},
	} {
		if milli, err := MilliCPU(text); err != nil || milli != want.milli {
			t.Errorf("%q is %d thousandths (%v), want %d", text, milli, err, want.milli)
		}
		if bytes, err := Bytes(text); err != nil || bytes != want.bytes {
			t.Errorf("%q is %d bytes (%v), want %d", text, bytes, err, want.bytes)
		}
		if err := Check(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is no quantity, or is below zero, is refused; the answer says how one is written.
func TestWhatIsNoQuantityIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", ".", "+", "-", "-1", "-0", "++1", "+-1", " 1", "1 ", "1 Gi", "1gi", "1GI", "1K", "1ki", "1KiB", "1mi", "1MM", "1Zi", "1Y", "1i",
		"1e", "1e+", "1e1.5", "1e1k", "1E+-1", "0x10", "1_000", "1,5", "1..5", "1.5.1", "Inf", "NaN", "１", "1\n", "1\x00", "e5", "m", "Gi",
		"1" + strings.Repeat("0", 64),
	} {
		for name, read := range map[string]func(string) (int64, *fault.Error){"cpu": MilliCPU, "bytes": Bytes} {
			if n, err := read(text); err == nil || err.Slug != "quantity_invalid" || n != 0 {
				t.Errorf("%s %q: got %d, %v", name, text, n, err)
			}
		}
		if err := Check(text); err == nil || err.Cure == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What does not fit is refused and never capped or wrapped around; the last that fits is read.
func TestWhatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	for text, fits := range map[string]bool{
		"9223372036854775807": true, "9223372036854775808": false, "9223372036854775807.5": false, "9223372036854775806.5": true,
		"7Ei": true, "8Ei": false, "7.99Ei": true, "9E": true, "10E": false, "1e18": true, "1e19": false, "1e9999999999": false,
		"9223372036854775807000m": true, "9223372036854775807001m": false,
	} {
		n, err := Bytes(text)
		if (err == nil) != fits || err != nil && (err.Slug != "quantity_too_large" || n != 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for text, fits := range map[string]bool{"9223372036854775.807": true, "9223372036854775.8071": false, "9223372036854776": false, "7Pi": true, "9Pi": false} {
		if n, err := MilliCPU(text); (err == nil) != fits || err != nil && err.Slug != "quantity_too_large" {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

// What is written is read back as it was, and is written as short as its exact value allows.
func TestWrittenQuantitiesAreReadBack(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(0, 5000),
		rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 7).Draw(t, "n") << rapid.IntRange(0, 60).Draw(t, "shift")
		}))
	rapid.Check(t, func(t *rapid.T) {
		n := number.Draw(t, "n")
		if got, err := MilliCPU(FormatMilliCPU(n)); err != nil || got != n {
			t.Fatalf("%d thousandths are written %q, which is %d (%v)", n, FormatMilliCPU(n), got, err)
		}
		if got, err := Bytes(FormatBytes(n)); err != nil || got != n {
			t.Fatalf("%d bytes are written %q, which is %d (%v)", n, FormatBytes(n), got, err)
		}
	})
	for n, want := range map[int64]string{0: "0", 1: "1", 1000: "1000", 1024: "1Ki", 1536 << 20: "1536Mi", 8 << 30: "8Gi", 4 << 60: "4Ei"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d bytes are written %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 1: "1m", 1000: "1", 1500: "1500m", 4000: "4"} {
		if got := FormatMilliCPU(n); got != want {
			t.Errorf("%d thousandths are written %q, want %q", n, got, want)
		}
	}
}

// More of a thing is never counted as less of it.
func TestCountingKeepsTheOrder(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{1,8})?`)
	rapid.Check(t, func(t *rapid.T) {
		number := text.Draw(t, "number")
		order := []string{"n", "u", "m", "", "k", "Ki", "M", "Mi", "G", "Gi"}
		last := int64(0)
		for _, s := range order {
			n, err := MilliCPU(number + s)
			if err != nil || n < last {
				t.Fatalf("%s%s is %d after %d (%v)", number, s, n, last, err)
			}
			last = n
		}
	})
}

// No text makes it panic or count below zero, thousandths are never fewer than what they are thousandths of, and what is
// accepted is written and read back.
func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"1", "500m", "1.5Gi", "1e3", "9E", "-1", "0e999999999999", ".5", "1.", "+1n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		milli, short := MilliCPU(text)
		bytes, err := Bytes(text)
		if (err != nil) != (short != nil) && (short == nil || short.Slug != "quantity_too_large") {
			t.Fatalf("%q: %v, %v", text, short, err)
		}
		if err == nil {
			if again, err := Bytes(FormatBytes(bytes)); err != nil || again != bytes || bytes < 0 {
				t.Fatalf("%q: %d, then %d (%v)", text, bytes, again, err)
			}
		}
		if short == nil && (milli < 0 || milli/1000 > bytes) {
			t.Fatalf("%q: %d thousandths, %d whole", text, milli, bytes)
		}
	})
}
