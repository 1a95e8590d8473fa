package kube

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"nettoll/internal/oneline"
	"nettoll/platform"
)

// forbidden matches what RBAC says of a missing right.
var forbidden = regexp.MustCompile(`User "([^"]*)" cannot (\w+) resource "([^"]*)" in API group "([^"]*)"`)

// webhook matches what the API server says of an admission webhook, or a policy, that refuses an object or does not answer.
var webhook = regexp.MustCompile(`(?:admission webhook|failed calling webhook|ValidatingAdmissionPolicy) ["']([^"']*)["']`)

// bounds matches what the API server says of requests and limits that a LimitRange does not admit; several are in brackets.
var bounds = regexp.MustCompile(`(?:maximum|minimum) \w+ usage per [^\]]*`)

// manual says where the rights that are needed are listed.
const manual = "docs/kubernetes.md lists the rights that measuring takes"

// refused explains an error of the API, unless it is nil: a missing right, a rule or a limit of the user's cluster. The parameter
// what is the kind of the objects that the request was about.
func (c *Cluster) refused(what string, err error) error {
	if c.own == nil {
		return err
	}
	// An API server that has just started refuses what it allows later. The network has ended anyway.
	if c.keeper != nil && c.keeper.lost() != nil && errors.As(err, new(*Status)) {
		return c.keeper.severed()
	}
	return c.own.refused(what, err)
}

func (o *Own) refused(what string, err error) error {
	if err == nil || late(err) {
		return err
	}
	if s, ok := errors.AsType[*Status](err); ok {
		return refusal(o.entrance.namespace, o.entrance.user, o.who(), what, s)
	}
	return o.away(err)
}

// refusal returns what a refusal means, in one line. place describes the cluster.
func refusal(namespace, user, place, what string, s *Status) error {
	text := oneline.Words(s.Message)
	in := "in the namespace " + namespace
	switch m := forbidden.FindStringSubmatch(text); {
	case s.Code == http.StatusUnauthorized:
		return fmt.Errorf("%s refuses the credentials of %s: they may have expired; log in again, or name another context with --context", place, orNobody(user))
	case m != nil:
		return missingRight(m[2]+" "+m[3], in)
	case strings.Contains(text, "violates PodSecurity"):
		_, lacks, _ := strings.Cut(text, "violates PodSecurity ")
		return &platform.Unsupported{
			Feature: "such pods " + in, Option: "a higher level of pod security there than " + lacks,
			Remedy: "kubectl label namespace " + namespace + " pod-security.kubernetes.io/enforce=privileged --overwrite, or name another with --namespace",
		}
	case strings.Contains(text, "exceeded quota") || strings.Contains(text, "failed quota"):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "room in the quota there: " + quota(text), Remedy: "raise the quota, or name another namespace with --namespace",
		}
	case bounds.MatchString(text):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "other bounds there than those of its LimitRange: " + bounds.FindString(text),
			Remedy: "give pods other CPUs (--pod-cpus), change the LimitRange, or name another namespace with --namespace",
		}
	case webhook.MatchString(text):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "the consent of the admission webhook or policy " + webhook.FindStringSubmatch(text)[1],
			Remedy: "exempt the namespace from it, or name another with --namespace", Err: errors.New(text),
		}
	case s.Reason == "NotFound" && strings.HasPrefix(text, "namespaces "):
		return fmt.Errorf("there is no namespace %s on %s; make it, or name another with --namespace", namespace, place)
	}
	return errors.New(text)
}

// quota returns the part of a message that names the quota.
func quota(text string) string {
	for _, words := range []string{"exceeded quota: ", "failed quota: "} {
		if _, after, ok := strings.Cut(text, words); ok {
			return after
		}
	}
	return text
}

func missingRight(what, in string) error {
	return &platform.Unsupported{
		Feature: "measuring " + in, Option: "the right to " + what, Remedy: "have a role bound that has it: " + manual,
	}
}

func orNobody(user string) string {
	if user == "" {
		return "this account"
	}
	return "the user " + user
}
