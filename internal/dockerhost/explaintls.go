package dockerhost

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// aboutTLS explains what this end finds wrong with the engine's certificate, and what
// the engine says of ours.
func aboutTLS(t Target, err error) (reason, remedy string) {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.As(err, &unknown):
		return "its certificate is from an authority that is not known here", t.useCertificates()
	case errors.As(err, &name):
		return oneLine("its certificate is for another name: " + name.Error()), "name the engine as its certificate does"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is valid from %s to %s, and it is another time here",
			invalid.Cert.NotBefore.Format("2006-01-02"), invalid.Cert.NotAfter.Format("2006-01-02")), "renew it, or set the clock"
	case errors.As(err, &invalid):
		return "its certificate is not valid: " + oneLine(invalid.Error()), "make it anew"
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "it does not speak TLS", t.withoutTLS()
	case errors.As(err, &operation) && operation.Op == "remote error":
		said := oneLine(strings.TrimPrefix(operation.Err.Error(), "tls: "))
		if t.authenticated() {
			return "it does not accept the client certificate: " + said, "use one that is signed by the authority that it trusts: " + t.useCertificates()
		}
		return "it wants a client certificate: " + said, t.useCertificates()
	}
	return "", ""
}

// withoutTLS says how TLS is turned off.
func (t Target) withoutTLS() string {
	if strings.HasPrefix(t.Source, contextSource) {
		return "check the port: engines speak TLS on 2376, or make the context without certificates"
	}
	return "check the port: engines speak TLS on 2376, or unset " + tlsWanted()
}
