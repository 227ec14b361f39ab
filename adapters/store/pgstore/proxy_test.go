package pgstore_test

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a store and its server, and can do what networks and dying servers do.
type proxy struct {
	tb     testing.TB
	target string
	port   string

	mu       sync.Mutex
	listener net.Listener
	pairs    map[net.Conn]net.Conn // of those who came, to the server
	copying  sync.WaitGroup
	held     bool

	asked    func(chunk []byte) []byte     // what of a client's bytes goes on; nil cuts the connection
	answered func(chunk []byte) (cut bool) // whether the server's bytes end the connection instead of going on
}

// between puts a proxy before the server of a DSN.
func between(tb testing.TB, dsn string) (*proxy, string) {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{tb: tb, target: u.Host, port: "0", pairs: map[net.Conn]net.Conn{}}
	p.start()
	tb.Cleanup(func() {
		p.stop()
		p.copying.Wait()
	})
	u.Host = "127.0.0.1:" + p.port
	return p, u.String()
}

// start listens, always at the same address.
func (p *proxy) start() {
	l, err := net.Listen("tcp", "127.0.0.1:"+p.port)
	if err != nil {
		p.tb.Fatal(err)
	}
	_, p.port, _ = net.SplitHostPort(l.Addr().String())
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	p.copying.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(client)
		}
	})
}

// stop ends every connection and refuses new ones.
func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for client, server := range p.pairs {
		client.Close()
		server.Close()
	}
}

// hold lets the proxy accept and pass nothing on.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	held := p.held
	if held {
		p.pairs[client] = client
	}
	p.mu.Unlock()
	if held {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	p.pairs[client] = server
	p.mu.Unlock()
	end := func() {
		client.Close()
		server.Close()
	}
	p.copying.Go(func() {
		defer end()
		pump(client, server, func(chunk []byte) []byte {
			if ask := p.hooks().asked; ask != nil {
				return ask(chunk)
			}
			return chunk
		})
	})
	p.copying.Go(func() {
		defer end()
		pump(server, client, func(chunk []byte) []byte {
			if answer := p.hooks().answered; answer != nil && answer(chunk) {
				return nil
			}
			return chunk
		})
	})
}

type hooks struct {
	asked    func(chunk []byte) []byte
	answered func(chunk []byte) bool
}

func (p *proxy) hooks() hooks {
	p.mu.Lock()
	defer p.mu.Unlock()
	return hooks{p.asked, p.answered}
}

// watch sets what is done with the bytes that pass.
func (p *proxy) watch(h hooks) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.answered = h.asked, h.answered
}

func pump(from, to net.Conn, filter func([]byte) []byte) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			chunk := filter(buffer[:n])
			if chunk == nil {
				return
			}
			if _, err := to.Write(chunk); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func commits(chunk []byte) bool { return bytes.Contains(chunk, []byte("COMMIT\x00")) }

// cutBefore loses the connection instead of a commit.
func cutBefore() hooks {
	return hooks{asked: func(chunk []byte) []byte {
		if commits(chunk) {
			return nil
		}
		return chunk
	}}
}

// cutAfter loses the connection once the server has answered a commit, and the answer with it.
func cutAfter() hooks {
	var mu sync.Mutex
	committed := false
	return hooks{
		asked: func(chunk []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			committed = committed || commits(chunk)
			return chunk
		},
		answered: func([]byte) bool {
			mu.Lock()
			defer mu.Unlock()
			return committed
		},
	}
}
