package testserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// MySQL starts Oracle's mysqld 5.6 as [MariaDB] starts a mariadbd, in the strict
// mode that its usual configuration sets. It is in the folder that
// DEDUP_TEST_MYSQL_HOME names; scripts/services.sh fetches it.
func MySQL(t testing.TB, args ...string) *SQLServer {
	t.Helper()
	client, home := program(t, "mariadb"), os.Getenv("DEDUP_TEST_MYSQL_HOME")
	if home == "" {
		noServer(t, "set DEDUP_TEST_MYSQL_HOME to the folder of mysqld, or run scripts/test.sh, which fetches it")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(home, "data", "mysql"))); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	options := slices.Concat([]string{"--no-defaults"}, sqlOptions(t, dir), []string{
		"--basedir=" + home, "--lc-messages-dir=" + filepath.Join(home, "share"),
		"--sql-mode=NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES",
	}, args)
	s := &SQLServer{t: t, client: client, command: func() *exec.Cmd {
		cmd := exec.Command(filepath.Join(home, "mysqld"), options...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+home) // it brings a library of its own
		return cmd
	}}
	s.begin()
	return s
}
