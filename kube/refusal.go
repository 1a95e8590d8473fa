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
	explained := c.own.refused(what, err)
	if un, ok := errors.AsType[*platform.Unsupported](explained); ok && passing(err) { // networks of which the first pods were taken are not given up for it
		if strings.Contains(un.Option, "quota") {
			un.Remedy = "build fewer networks at once (--together), " + un.Remedy
		}
		return errors.New(un.Error() + "; " + un.Remedy)
	}
	return explained
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
	case strings.Contains(text, exceeded):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "room in the quota there: " + after(text, exceeded), Remedy: "raise the quota, or name another namespace with --namespace",
		}
	case strings.Contains(text, unspecified):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "what the quota there wants: " + after(text, unspecified),
			Remedy: "have a LimitRange give containers defaults there, or name another namespace with --namespace",
		}
	case bounds.MatchString(text):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "other bounds there than those of its LimitRange: " + bounds.FindString(text),
			Remedy: "give pods other CPUs (--pod-cpus), change the LimitRange, or name another namespace with --namespace",
		}
	case webhook.MatchString(text) && strings.Contains(text, unanswered):
		return &platform.Unsupported{
			Feature: what + " " + in, Option: "an answer of the admission webhook " + webhook.FindStringSubmatch(text)[1],
			Remedy: "see why it does not answer, exempt the namespace from it, or name another with --namespace", Err: errors.New(text),
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

// What the API server says where a quota is used up, where it wants pods to say what they use, and where a webhook does not answer.
const (
	exceeded    = "exceeded quota: "
	unspecified = "failed quota: "
	unanswered  = "failed calling webhook"
)

// after returns the part of a text that follows some words.
func after(text, words string) string {
	_, rest, _ := strings.Cut(text, words)
	return rest
}

// passing reports whether a refusal can be another one soon: of what others use, or of a webhook that does not answer.
func passing(err error) bool {
	s, ok := errors.AsType[*Status](err)
	return ok && (strings.Contains(s.Message, exceeded) || strings.Contains(s.Message, unanswered))
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
