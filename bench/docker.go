package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// The containers of a measurement that is large for one engine, and how often they are
// started each way.
const (
	dockerContainers = 20
	dockerRounds     = 5
)

// docker starts containers on the default bridge of a private engine, by nettoll and by
// the docker command, one right after the other.
func docker(ctx context.Context, _ *work) (err error) {
	if _, err := exec.LookPath("docker"); err != nil {
		fmt.Fprintln(os.Stderr, "docker: left out:", err)
		return nil
	}
	if err := engine.Available(); err != nil {
		fmt.Fprintln(os.Stderr, "docker: left out:", err)
		return nil
	}
	h, stop, err := privateEngine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	image, err := h.Engine.Load(ctx)
	if err != nil {
		return err
	}
	var speed ratios
	for range dockerRounds {
		ours, err := startByNettoll(ctx, h)
		if err != nil {
			return err
		}
		theirs, err := startByDocker(ctx, h, image)
		if err != nil {
			return err
		}
		speed = append(speed, ours.Seconds()/theirs.Seconds())
		fmt.Fprintf(os.Stderr, "%d containers: nettoll %.2f s, docker run %.2f s\n", dockerContainers, ours.Seconds(), theirs.Seconds())
	}
	speed.show(fmt.Sprintf("nettoll ÷ docker run, time for %d containers", dockerContainers), false, 1)
	return nil
}

// benchRun stands for the id of a run.
const benchRun = "bench-docker"

// privateEngine is an engine on a host of the lab, with this program as its image.
func privateEngine(ctx context.Context) (h *engine.Host, stop func() error, err error) {
	agent, err := rootfs.Agent()
	if err != nil {
		return nil, nil, err
	}
	root, err := rootfs.New(agent)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := lab.New().Hosts(ctx, platform.HostRequest{Count: 1})
	if err != nil {
		return nil, nil, err
	}
	p, err := engine.StartPrivate(ctx, hosts.All()[0], 0, benchRun, engine.Image{Root: root}, engine.Settings{})
	if err != nil {
		return nil, nil, errors.Join(err, hosts.Close(ctx))
	}
	return p.Host, func() error {
		err := errors.Join(p.Stop(), hosts.Close(context.WithoutCancel(ctx)))
		_, swept := engine.SweepCgroups(benchRun)
		return errors.Join(err, swept)
	}, nil
}

func startByNettoll(ctx context.Context, h *engine.Host) (time.Duration, error) {
	specs := make([]engine.Spec, dockerContainers)
	for i := range specs {
		specs[i].Mode = "bridge"
	}
	begin := time.Now()
	_, err := h.Run(ctx, specs...)
	took := time.Since(begin)
	return took, errors.Join(err, h.Empty(ctx))
}

// startByDocker does the same with one docker run after the other. The containers stay,
// since their agents wait for input (-i).
func startByDocker(ctx context.Context, h *engine.Host, image string) (time.Duration, error) {
	docker := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "docker", append([]string{"--host", h.Engine.Client.DaemonHost()}, args...)...)
		out, err := cmd.Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("docker %s: %w: %s", args[0], err, failed.Stderr)
		}
		return strings.TrimSpace(string(out)), err
	}
	var ids []string
	var err error
	begin := time.Now()
	for range dockerContainers {
		var id string
		if id, err = docker("run", "-d", "-i", image, "agent"); err != nil {
			break
		}
		ids = append(ids, id)
	}
	took := time.Since(begin)
	if len(ids) > 0 {
		_, removed := docker(append([]string{"rm", "-f"}, ids...)...)
		err = errors.Join(err, removed)
	}
	return took, err
}
