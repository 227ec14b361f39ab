package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Conn is one kept-alive connection that writes requests as they were built, so that the client's share of the machine
// is small. One that lay idle is made anew: the server may have given it up meanwhile.
type Conn struct {
	network, address string

	c    net.Conn
	in   *bufio.Reader
	used time.Time
}

const idle = 2 * time.Second

// Dial connects to "unix:PATH" or to http://host:port.
func Dial(address string) (*Conn, error) {
	c := &Conn{network: "tcp", address: strings.TrimPrefix(address, "http://")}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		c.network, c.address = "unix", path
	}
	return c, c.dial()
}

func (c *Conn) dial() (err error) {
	if c.c, err = net.Dial(c.network, c.address); err != nil {
		return err
	}
	c.in, c.used = bufio.NewReaderSize(c.c, 64<<10), time.Now()
	return nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.c.Close() }

// Do sends a request and returns what came back, and how long that took.
func (c *Conn) Do(request []byte) (Reply, error) {
	if time.Since(c.used) > idle {
		_ = c.c.Close() // whatever is wrong with it
		if err := c.dial(); err != nil {
			return Reply{}, err
		}
	}
	began := time.Now()
	if _, err := c.c.Write(request); err != nil {
		return Reply{}, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return Reply{}, err
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	c.used = time.Now()
	return Reply{Status: resp.StatusCode, ETag: resp.Header.Get("ETag"), Body: data, Took: c.used.Sub(began)}, err
}

// Must is Do that takes one status for an answer and every other for an error.
func (c *Conn) Must(request []byte, status int) (Reply, error) {
	r, err := c.Do(request)
	if err == nil && r.Status != status {
		line, _, _ := strings.Cut(string(request), "\r\n")
		err = fmt.Errorf("%s: status %d, not %d: %s", line, r.Status, status, r.Body)
	}
	return r, err
}

// Reply is an answer.
type Reply struct {
	Status int
	ETag   string
	Body   []byte
	Took   time.Duration // from the first byte of the request to the last of the answer
}

// Request builds a request: names and values of headers alternate.
func Request(method, target, host string, body []byte, header ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, host)
	for i := 0; i+1 < len(header); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", header[i], header[i+1])
	}
	if body != nil {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return []byte(b.String())
}
