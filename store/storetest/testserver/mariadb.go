package testserver

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
)

// MariaDB starts a mariadbd on a free loopback port with a data folder of its
// own, and stops it when the test ends. args are its options, such as
// "--transaction-isolation=READ-COMMITTED".
//
// Without MariaDB it skips the test and says so; with DEDUP_TEST_STRICT=1 it
// fails it instead.
func MariaDB(t testing.TB, args ...string) *SQLServer {
	t.Helper()
	server, client := program(t, "mariadbd"), program(t, "mariadb")
	data, err := mariaData()
	if err != nil {
		t.Fatalf("testserver: %v", err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "data"), data); err != nil {
		t.Fatalf("testserver: %v", err)
	}
	options := slices.Concat([]string{"--no-defaults"}, sqlOptions(t, dir), args)
	s := &SQLServer{t: t, client: client, command: func() *exec.Cmd { return exec.Command(server, options...) }}
	s.begin()
	return s
}

// mariaData is the data folder of a new server, 20 MB. To make it takes longer
// than to start the server, so it is made once in a process.
var mariaData = sync.OnceValues(func() (fs.FS, error) {
	dir, err := os.MkdirTemp("", "mariadb")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // what stays is in the system's temporary folder
	args := append([]string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), redoLog,
		"--auth-root-authentication-method=normal", "--skip-test-db"}, sqlUser()...)
	if out, err := exec.Command("mariadb-install-db", args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	return inMemory(os.DirFS(filepath.Join(dir, "data")))
})

func inMemory(disk fs.FS) (fs.FS, error) {
	copied := fstest.MapFS{}
	err := fs.WalkDir(disk, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			copied[path] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
			return nil
		}
		data, err := fs.ReadFile(disk, path)
		copied[path] = &fstest.MapFile{Data: data, Mode: 0o600}
		return err
	})
	return copied, err
}
