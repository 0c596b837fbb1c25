package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// The exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitDraining = 3
)

// tool is one call of the program.
type tool struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string
	log            *slog.Logger // nil until a configuration says how to log
}

type verb struct {
	name  string // one word or two
	usage string
	run   func(*tool, context.Context, []string) error
}

func verbs() []verb {
	return []verb{
		{"consume", "-config FILE -exec COMMAND [-kill-after 5s]", (*tool).consume},
		{"produce", "-config FILE -topic TOPIC -key KEY [-tag TAG] [-body TEXT | -file FILE]\n" +
			"                   [-count N] [-resend PERCENT]", (*tool).produce},
		{"config validate", "FILE", (*tool).validate},
		{"demo", "[-store memory | -store redis://HOST:PORT] [-namesrv HOST:PORT] [-messages N]\n" +
			"                [-resend PERCENT] [-consumers N] [-seed N] [-json]", (*tool).demo},
		{"version", "", (*tool).version},
		{"help", "", (*tool).help},
	}
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	t := &tool{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	return t.report(t.call(ctx, args))
}

func (t *tool) call(ctx context.Context, args []string) error {
	for _, v := range verbs() {
		words := strings.Fields(v.name)
		if n := len(words); len(args) >= n && slices.Equal(args[:n], words) {
			return v.run(t, ctx, args[n:])
		}
	}
	switch {
	case len(args) == 0:
		return usageError("what to do is missing\n\n" + usage())
	case args[0] == "-h" || args[0] == "-help" || args[0] == "--help":
		return t.help(ctx, nil)
	}
	return usageError(fmt.Sprintf("unknown: %s\n\n%s", strings.Join(args[:min(len(args), 2)], " "), usage()))
}

// usageError is a call that cannot be carried out as it is written.
type usageError string

func (e usageError) Error() string { return strings.TrimSuffix(string(e), "\n") }

// report tells what went wrong, in the log once there is one, and turns it into
// the exit code.
func (t *tool) report(err error) int {
	var usage usageError
	var problems config.Problems
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintln(t.stderr, "dedupctl: "+usage.Error())
		return exitUsage
	case errors.As(err, &problems):
		fmt.Fprintln(t.stderr, problems)
		return exitUsage
	case t.log != nil:
		t.log.Error("dedupctl: " + err.Error())
	default:
		fmt.Fprintln(t.stderr, "dedupctl: "+err.Error())
	}
	if errors.Is(err, listener.ErrDraining) {
		return exitDraining
	}
	return exitFailed
}

func usage() string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	for _, v := range verbs() {
		b.WriteString(strings.TrimRight("  dedupctl "+v.name+" "+v.usage, " ") + "\n")
	}
	b.WriteString("\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 stopped over the drain limit.\n")
	return b.String()
}

func (t *tool) help(context.Context, []string) error {
	_, err := io.WriteString(t.stdout, usage())
	return err
}

func (t *tool) version(context.Context, []string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("built without version information")
	}
	_, err := fmt.Fprintln(t.stdout, "dedupctl", info.Main.Version, info.GoVersion)
	return err
}

// parse reads the flags of one verb. Everything that is wrong with them is one
// usageError; required names flags that must not be empty.
func (t *tool) parse(f *flag.FlagSet, args []string, required ...string) error {
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(t.stdout)
		fmt.Fprintf(t.stdout, "Usage of dedupctl %s:\n", f.Name())
		f.PrintDefaults()
		return err
	case err != nil:
		return usageError(f.Name() + ": " + err.Error())
	}
	var wrong []string
	for _, name := range required {
		if f.Lookup(name).Value.String() == "" {
			wrong = append(wrong, "-"+name+" is missing")
		}
	}
	if f.NArg() > 0 {
		wrong = append(wrong, fmt.Sprintf("%q is not a flag", f.Arg(0)))
	}
	if len(wrong) > 0 {
		return usageError(f.Name() + ": " + strings.Join(wrong, ", "))
	}
	return nil
}
