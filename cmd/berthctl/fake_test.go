package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"

	"berth/adapters/contract"
)

// fake is API and origin of one tenant with one route, for one script.
type fake struct {
	url      string
	mu       sync.Mutex
	messages []contract.Frame
	files    map[string][]byte
}

// besides starts a fake for a script, which finds it by BERTH_URL and BERTH_CA_FILE.
func besides(env *testscript.Env) error {
	f := &fake{files: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/devices", f.pair)
	mux.HandleFunc("POST /v1/devices/token", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, contract.AccessToken{AccessToken: "tok_secret", ExpiresAt: time.Now().Add(time.Hour)})
	})
	mux.HandleFunc("GET /v1/devices/{id}/connection", func(w http.ResponseWriter, _ *http.Request) {
		say(w, 200, contract.Connection{ConnectionState: "ready", ConnectURL: f.connectURL()})
	})
	mux.HandleFunc("GET "+contract.ConnectPath, f.connect)
	mux.HandleFunc(contract.AttachmentsPath+"{digest}", f.attachment)
	s := httptest.NewTLSServer(mux)
	env.Defer(s.Close)
	f.url = s.URL
	env.Setenv("FAKE_URL", s.URL)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	other, err := strangerCA()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(env.WorkDir+"/ca.pem", ca, 0o600), os.WriteFile(env.WorkDir+"/other.pem", other, 0o600))
}

// strangerCA is a CA that signed nothing.
func strangerCA() ([]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, public, private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), err
}

func (f *fake) connectURL() string {
	return "wss" + strings.TrimPrefix(f.url, "https") + contract.ConnectPath
}

func say(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (f *fake) pair(w http.ResponseWriter, r *http.Request) {
	var in contract.NewDevice
	if err := json.UnmarshalRead(r.Body, &in); err != nil || in.PairingCode != "good-code" {
		w.Header().Set("Content-Type", contract.ProblemType)
		say(w, 401, contract.Problem{Type: contract.ProblemPrefix + "pairing_code_refused", Detail: "the code pairs nothing"})
		return
	}
	say(w, 201, contract.Device{
		Principal: "prn_1", Tenant: "demo", ConnectURL: f.connectURL(),
		RouteHandles: []contract.RouteHandle{{Route: "main", Handle: "hnd_secret"}},
	})
}

func (f *fake) connect(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{contract.ConnectProtocol}})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	for {
		_, text, err := ws.Read(context.Background())
		var in contract.Frame
		if err != nil || json.Unmarshal(text, &in) != nil {
			return
		}
		for _, out := range f.answer(in) {
			text, err := json.Marshal(out)
			if err != nil || ws.Write(context.Background(), websocket.MessageText, text) != nil {
				return
			}
		}
	}
}

func (f *fake) answer(in contract.Frame) []contract.Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch in.Op {
	case contract.OpPublish:
		at := time.Unix(1, 0).UTC()
		m := contract.Frame{Op: contract.OpMessage, Route: "main", Seq: int64(len(f.messages) + 1), ID: in.ID, From: "prn_1", At: &at, Body: in.Body}
		f.messages = append(f.messages, m)
		return []contract.Frame{{Op: contract.OpAck, ID: in.ID, Seq: m.Seq}}
	case contract.OpSubscribe:
		out := []contract.Frame{{Op: contract.OpSubscribed, Route: "main", Seq: int64(len(f.messages))}}
		return append(out, f.messages[min(int(*in.After), len(f.messages)):]...)
	case contract.OpRevoke:
		switch in.Principal {
		case "prn_2":
			return []contract.Frame{{Op: contract.OpRevoked, Principal: in.Principal, Revision: 4}}
		case "prn_1":
			return []contract.Frame{{Op: contract.OpGoaway, Reason: contract.GoawayRevoked}}
		}
		return []contract.Frame{{Op: contract.OpError, Of: in.Op, Principal: in.Principal, Slug: "principal_not_found", Detail: "there is no such principal"}}
	}
	return nil
}

func (f *fake) attachment(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	digest := r.PathValue("digest")
	data, there := f.files[digest]
	switch {
	case r.Method == http.MethodPut:
		data, _ = io.ReadAll(r.Body)
		sum := sha256.Sum256(data)
		f.files[hex.EncodeToString(sum[:])] = data
		w.WriteHeader(http.StatusCreated)
	case !there:
		w.Header().Set("Content-Type", contract.ProblemType)
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type":"urn:berth:problem:attachment_missing","detail":"there is no such attachment"}`)
	default:
		_, _ = w.Write(data)
	}
}
