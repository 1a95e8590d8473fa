package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"
)

// writeTokens makes a token for each user, and writes the file by which the API server knows them.
func (s *Server) writeTokens(path string, users []User) error {
	s.tokens = map[string]string{}
	var text strings.Builder
	for _, u := range append([]User{{Admin, []string{"system:masters"}}}, users...) {
		s.tokens[u.Name] = rand.Text()
		fmt.Fprintf(&text, "%s,%s,%s,%q\n", s.tokens[u.Name], u.Name, u.Name, strings.Join(u.Groups, ","))
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// writeKey makes a key for tokens of service accounts.
func writeKey(path string) error {
	_, text, err := newKey()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), err
}

// clientCertificate is what the API server shows to kubelets.
type clientCertificate struct {
	certificate, file string // file with the certificate, which is also the authority that kubelets trust, and with its key
}

// certificateLife is longer than any lab lives.
const certificateLife = 365 * 24 * time.Hour

// newClientCertificate writes a certificate that signs itself. Its key signs nothing else, since kubelets obey
// whoever has a certificate that it signed.
func newClientCertificate(dir string) (c clientCertificate, err error) {
	key, text, err := newKey()
	if err != nil {
		return c, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nettoll-apiserver"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return c, err
	}
	c = clientCertificate{certificate: dir + "/kubelet-client.crt", file: dir + "/kubelet-client.key"}
	if err := os.WriteFile(c.file, text, 0o600); err != nil {
		return c, err
	}
	return c, os.WriteFile(c.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}
