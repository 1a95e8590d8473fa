package dial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// serveTLS answers pings over TLS.
func serveTLS(t *testing.T, config *tls.Config) string {
	t.Helper()
	machine.Loopback(t)
	s := httptest.NewUnstartedServer(engineOf("1.41"))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail here on purpose
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return "tcp://" + s.Listener.Addr().String()
}

func TestTLS(t *testing.T) {
	a, other := newAuthority(t, "ours"), newAuthority(t, "theirs")
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	good := a.issue(t, "127.0.0.1", later)
	engine := func(p pair) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{p.load(t)}} }
	wanting := func(version uint16) *tls.Config {
		c := engine(good)
		c.ClientAuth, c.ClientCAs, c.MaxVersion = tls.RequireAndVerifyClientCert, a.pool(), version
		return c
	}
	mine, foreign := a.issue(t, "me", later), other.issue(t, "me", later)
	for _, c := range []struct {
		what           string
		engine         *tls.Config
		ca             string
		mine           pair
		reason, remedy string // no remedy: it succeeds
	}{
		{"right", engine(good), a.pem, pair{}, "", ""},
		{"right, both", wanting(tls.VersionTLS13), a.pem, mine, "", ""},
		{"right, both, TLS 1.2", wanting(tls.VersionTLS12), a.pem, mine, "", ""},
		{"unknown authority", engine(good), other.pem, pair{}, "signed by unknown authority", "DOCKER_CERT_PATH=FOLDER"},
		{"another name", engine(a.issue(t, "docker.example", later)), a.pem, pair{}, "127.0.0.1", "check certificates"},
		{"expired", engine(a.issue(t, "127.0.0.1", earlier)), a.pem, pair{}, "certificate has expired", "clock"},
		{"no client certificate", wanting(tls.VersionTLS13), a.pem, pair{}, "", "cert.pem and key.pem"},
		{"no client certificate, TLS 1.2", wanting(tls.VersionTLS12), a.pem, pair{}, "", "cert.pem and key.pem"},
		{"foreign client certificate", wanting(tls.VersionTLS12), a.pem, foreign, "do not agree on TLS", "DOCKER_CERT_PATH"},
	} {
		t.Run(c.what, func(t *testing.T) {
			clean(t)
			t.Setenv("DOCKER_TLS_VERIFY", "1")
			t.Setenv("DOCKER_CERT_PATH", c.mine.store(t, c.ca))
			target, err := Resolve(serveTLS(t, c.engine))
			iferr.Fatal(t, err)
			e, err := Connect(t.Context(), target)
			if c.remedy != "" {
				unreachable(t, err, c.reason, c.remedy)
				return
			}
			iferr.Fatal(t, err)
			e.Close()
		})
	}
}

// TestUncheckedTLS checks that DOCKER_TLS uses TLS without verifying the engine's certificate.
func TestUncheckedTLS(t *testing.T) {
	clean(t)
	a, other := newAuthority(t, "ours"), newAuthority(t, "theirs")
	p := a.issue(t, "docker.example", time.Now().Add(time.Hour))
	t.Setenv("DOCKER_TLS", "1")
	t.Setenv("DOCKER_CERT_PATH", pair{}.store(t, other.pem))
	target, err := Resolve(serveTLS(t, &tls.Config{Certificates: []tls.Certificate{p.load(t)}}))
	iferr.Fatal(t, err)
	e, err := Connect(t.Context(), target)
	iferr.Fatal(t, err)
	e.Close()
}

func TestTLSOnOneSide(t *testing.T) {
	f := clean(t)
	a := newAuthority(t, "ours")
	p := a.issue(t, "127.0.0.1", time.Now().Add(time.Hour))
	encrypted := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{p.load(t)}})
	_, err := Connect(t.Context(), Target{Host: encrypted, Source: flag})
	unreachable(t, err, "do not agree on TLS", "DOCKER_TLS_VERIFY=1")
	addContext(t, f, "prod", encrypted, nil)
	target, err := Resolve("prod")
	iferr.Fatal(t, err)
	_, err = Connect(t.Context(), target)
	unreachable(t, err, "do not agree on TLS", "docker context update prod --docker host="+encrypted+",ca=FILE")

	t.Setenv("DOCKER_TLS_VERIFY", "1")
	t.Setenv("DOCKER_CERT_PATH", pair{}.store(t, a.pem))
	plain := serve(t, engineOf("1.41"))
	target, err = Resolve(plain.Host)
	iferr.Fatal(t, err)
	_, err = Connect(t.Context(), target)
	unreachable(t, err, "do not agree on TLS", "check certificates, clock and port")
}

func TestBrokenCertificates(t *testing.T) {
	clean(t)
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	for _, c := range []struct {
		p      pair
		ca     string
		reason string
	}{
		{pair{}, "no certificate", "ca.pem seems invalid"},
		{pair{"x", "y"}, newAuthority(t, "any").pem, "no valid private key"},
	} {
		t.Setenv("DOCKER_CERT_PATH", c.p.store(t, c.ca))
		target, err := Resolve("tcp://127.0.0.1:2376")
		iferr.Fatal(t, err)
		_, err = Connect(t.Context(), target)
		unreachable(t, err, c.reason, "DOCKER_CERT_PATH")
	}
}

// authority signs the certificates of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

// pair is a certificate and its key in PEM.
type pair struct{ cert, key string }

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{key: newKey(t)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	iferr.Fatal(t, err)
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = armor("CERTIFICATE", der)
	return a
}

// issue signs a certificate for a name or address, valid until the given time.
func (a *authority) issue(t *testing.T, name string, until time.Time) pair {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	iferr.Fatal(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	iferr.Fatal(t, err)
	return pair{armor("CERTIFICATE", der), armor("EC PRIVATE KEY", secret)}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func (p pair) load(t *testing.T) tls.Certificate {
	t.Helper()
	c, err := tls.X509KeyPair([]byte(p.cert), []byte(p.key))
	iferr.Fatal(t, err)
	return c
}

// store writes ca.pem and, unless the pair is empty, cert.pem and key.pem, and returns their folder.
func (p pair) store(t *testing.T, ca string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "ca.pem", ca, 0o600)
	if p != (pair{}) {
		write(t, dir, "cert.pem", p.cert, 0o600)
		write(t, dir, "key.pem", p.key, 0o600)
	}
	return dir
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	iferr.Fatal(t, err)
	return key
}

func armor(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
