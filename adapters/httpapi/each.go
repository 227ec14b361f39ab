package httpapi

// Each makes a list of another: empty, and not nil, where it is empty.
func Each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, 0, len(in))
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}
