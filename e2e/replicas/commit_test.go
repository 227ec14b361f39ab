package replicas

import (
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
	"berth/e2e/lab"
)

func makeToken(t *testing.T, s *harness.Server, name, key string) harness.Answer {
	t.Helper()
	var header []string
	if key != "" {
		header = []string{contract.HeaderIdempotencyKey, key}
	}
	return s.Do(s.Token, "POST", "/api/v1/tokens", contract.NewToken{Name: name, Role: "viewer"}, header...)
}

func (w *world) tokens(name string) string {
	w.t.Helper()
	return w.pg.SQL("SELECT count(*) FROM operator_tokens WHERE name = '" + name + "'")
}

// A transaction that the server kills at its commit did not happen: nobody is told that it did, its repeat through the
// other replica is not carried out blindly, and a new attempt makes one.
func TestTransactionKilledByTheServerAtCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A deferred trigger runs within the commit, before it is made.
	w.pg.SQL(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER die AFTER INSERT ON operator_tokens DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.name = 'doomed') EXECUTE FUNCTION die()`)
	if a := makeToken(t, w.one, "doomed", "k-1"); a.Status != 503 || a.Slug() != "commit_unknown" || a.Header.Get("Retry-After") == "" {
		t.Errorf("killed at its commit: %d %s", a.Status, a.Body)
	}
	w.pg.SQL("DROP TRIGGER die ON operator_tokens")
	if a := makeToken(t, w.two, "doomed", "k-1"); a.Slug() != "idempotency_outcome_unknown" {
		t.Errorf("repeated to the other replica: %d %s", a.Status, a.Body)
	}
	if n := w.tokens("doomed"); n != "0" {
		t.Errorf("it is there %s times", n)
	}
	if a := makeToken(t, w.two, "doomed", "k-2"); a.Status != 201 || w.tokens("doomed") != "1" {
		t.Errorf("anew: %d %s, and it is there %s times", a.Status, a.Body, w.tokens("doomed"))
	}
	w.agree()
}

// A commit whose answer the server holds back, here since it waits for a standby that never comes, is not called a success
// though it happened, and a client that looks before it repeats doubles nothing.
func TestCommitWhoseAnswerNeverComes(t *testing.T) {
	t.Parallel()
	w := worldOn(t, lab.Server(t, lab.Options{}))
	w.pg.SQL("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	w.pg.SQL("SELECT pg_reload_conf()")
	within(t, 10*time.Second, "the server waits for its standby", func() bool {
		return w.pg.SQL("SHOW synchronous_standby_names") == "nobody"
	}, nil)
	if a := makeToken(t, w.one, "held", ""); a.Status != 503 || a.Slug() != "commit_unknown" {
		t.Errorf("without an answer to its commit: %d %s", a.Status, a.Body)
	}
	if a := makeToken(t, w.two, "keyed", "k-1"); a.Status != 503 {
		t.Errorf("under a key, without an answer to its commit: %d %s", a.Status, a.Body)
	}
	w.pg.SQL("ALTER SYSTEM RESET synchronous_standby_names")
	w.pg.SQL("SELECT pg_reload_conf()")
	w.recovers("answers")
	if n := w.tokens("held"); n != "1" {
		t.Errorf("what was held back is there %s times", n)
	}
	if a := makeToken(t, w.one, "keyed", "k-1"); a.Status == 201 && a.Header.Get(contract.HeaderReplayed) != "" {
		t.Errorf("a success is repeated that nobody had: %s", a.Body)
	}
	if n := w.tokens("keyed"); n != "0" && n != "1" {
		t.Errorf("what was repeated is there %s times", n)
	}
	w.agree()
}
