package law

import "testing"

// Each way of failing a test is noticed, those that end the goroutine included, and passing or skipping is not taken
// for failing.
func TestVerdictNoticesEachWayOfFailing(t *testing.T) {
	t.Parallel()
	ways := map[string]func(tb testing.TB){
		"Error":   func(tb testing.TB) { tb.Error("bad") },
		"Errorf":  func(tb testing.TB) { tb.Errorf("bad %d", 1) },
		"Fail":    func(tb testing.TB) { tb.Fail() },
		"FailNow": func(tb testing.TB) { tb.FailNow(); panic("went on after FailNow") },
		"Fatal":   func(tb testing.TB) { tb.Fatal("bad"); panic("went on after Fatal") },
		"Fatalf":  func(tb testing.TB) { tb.Fatalf("bad %d", 1); panic("went on after Fatalf") },
	}
	for name, way := range ways {
		if complaints := verdict(t, way); len(complaints) != 1 {
			t.Errorf("%s left %q", name, complaints)
		}
	}
	if complaints := verdict(t, func(tb testing.TB) { tb.Logf("fine"); tb.Helper() }); len(complaints) != 0 {
		t.Errorf("passing left %q", complaints)
	}
	if complaints := verdict(t, func(tb testing.TB) { tb.Skip("not today") }); len(complaints) != 0 {
		t.Errorf("skipping left %q", complaints)
	}
}

// Caught complains itself where a law lets a mutant pass, and where there is no such law; it is content where the law
// complains.
func TestCaughtComplainsOfAToothlessLaw(t *testing.T) {
	t.Parallel()
	laws := []Law[int]{{Name: "is positive", Check: func(tb testing.TB, n int) {
		tb.Helper()
		if n <= 0 {
			tb.Fatalf("%d is not positive", n)
		}
	}}}
	caught := func(name string, subject int) []string {
		return verdict(t, func(tb testing.TB) { Caught(tb, laws, name, func(testing.TB) int { return subject }) })
	}
	if complaints := caught("is positive", -1); len(complaints) != 0 {
		t.Errorf("a caught mutant left %q", complaints)
	}
	if complaints := caught("is positive", 1); len(complaints) != 1 {
		t.Errorf("a mutant that passed left %q", complaints)
	}
	if complaints := caught("is even", -1); len(complaints) != 1 {
		t.Errorf("an unknown law left %q", complaints)
	}
}
