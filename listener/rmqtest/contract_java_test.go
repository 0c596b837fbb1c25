package rmqtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// anyID is an id of the broker or a client. Where a host has an IPv6 address, those
// of the Java client are longer.
var anyID = regexp.MustCompile(`\b[0-9A-Fa-f]{32,}\b`)

// playJavaClient has the Java client and that of Go send to each other.
func playJavaClient(s *stage) {
	p, in := s.produceWith(), newInbox()
	send(s.t, p, message(s.topic, "G-single", "").WithTag("paid"))
	send(s.t, p, message(s.topic, "G-fails", "").WithTag("paid"))
	var batch []*primitive.Message
	for i := range 2 {
		batch = append(batch, message(s.topic, fmt.Sprint("G-batch-", i), "").WithTag("shipped"))
	}
	send(s.t, p, batch...)

	// 4 of Go and 7 of Java; two fail once.
	output, err := s.javaClient("13").Output()
	for line := range strings.Lines(string(output)) {
		s.say("Java %s", anyID.ReplaceAllStringFunc(strings.TrimSpace(line), s.id))
	}
	if err != nil {
		s.t.Fatalf("%v\n%s", err, output)
	}
	eventually(s.t, "the Java consumer's offset", func() bool { return s.offset(rmqtest.QueryOffset) == 12 })

	s.deleteAtTheEnd("%RETRY%" + s.group + "-go")
	consume(s.t, s, s.group+"-go", s.topic, in.accept)
	s.show(in.first(s.t, "J-single 0", "J-fails 0", "J-filtered 0", "J-batch-0 0", "J-batch-1 0", "J-batch-2 0",
		"J-oneway 0", "J-delayed 0")...)
}

// javaClient is the program of scripts/javaclient.
func (s *stage) javaClient(deliveries string) *exec.Cmd {
	s.t.Helper()
	java, jars := os.Getenv("DEDUP_TEST_JAVA"), os.Getenv("DEDUP_TEST_JAVA_JARS")
	if java == "" || jars == "" {
		const remedy = "set DEDUP_TEST_JAVA to a JDK's java and DEDUP_TEST_JAVA_JARS to a folder with the Java client, " +
			"or run scripts/test.sh, which does"
		if os.Getenv("DEDUP_TEST_STRICT") == "1" {
			s.t.Fatal("NO JAVA CLIENT: " + remedy)
		}
		s.t.Skip("SKIPPED, NO JAVA CLIENT: " + remedy)
	}
	const scripts = "../../scripts/"
	program := exec.CommandContext(s.t.Context(), java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Duser.home="+s.t.TempDir(), "-Drmq.logback.configurationFile="+scripts+"services/logback.xml",
		"-cp", filepath.Join(jars, "*"), scripts+"javaclient/Client.java", s.nameServer, s.topic, s.group, deliveries)
	program.Stderr = os.Stderr
	return program
}
