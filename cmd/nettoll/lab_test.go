package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nettoll/docker/engine"
	"nettoll/platform/platformtest"
)

func TestLabSwarm(t *testing.T) {
	_, noCommand := exec.LookPath("docker")
	platformtest.Require(t, "dockerd", errors.Join(engine.Available(), noCommand))
	const script = `docker node ls --format "node {{.Status}} {{.ManagerStatus}}"
		docker -H $NETTOLL_NODE2 info --format "second {{.Swarm.ControlAvailable}}"
		docker image inspect --format "image {{.RepoTags}}" $NETTOLL_IMAGE
		docker -H $NETTOLL_NODE2 run -d -i --entrypoint /nettoll $NETTOLL_IMAGE agent
		ip -4 -o addr show dev eth0
		ip netns exec h2 ip -4 -o addr show dev eth0
		exit 7`
	cmd := exec.Command("nettoll", "lab", "swarm", "--nodes", "2", "--", "sh", "-c", script)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("%v, want the command's exit status 7:\n%s", err, out)
	}
	for _, want := range []string{"node Ready Leader", "node Ready \n", "second false", "image [localhost/nettoll:", "198.18.0.1/16", "198.18.0.2/16"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	run := regexp.MustCompile(`image \[localhost/nettoll:(\w+)\]`).FindSubmatch(out)
	if run == nil {
		t.Fatalf("no run in\n%s", out)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/nettoll-", "/sys/fs/cgroup/*/nettoll-"} {
		if left, err := filepath.Glob(pattern + string(run[1][:12]) + "*"); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}
