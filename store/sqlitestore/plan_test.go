package sqlitestore_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

func TestNoStatementLooksAtTheWholeTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dedup.db")
	open(t, path, sqlitestore.Options{})
	db := connect(t, path)
	for name, query := range sqlitestore.Queries {
		rows, err := db.Query(`EXPLAIN QUERY PLAN `+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Fatal(name, err)
		}
		steps := 0
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			steps++
			if strings.Contains(detail, "SCAN dedup_record") && !strings.Contains(detail, "USING") ||
				strings.Contains(detail, "USE TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%s: %s", name, detail)
			}
		}
		if err := rows.Err(); err != nil || steps == 0 {
			t.Errorf("%s: got %d steps, %v", name, steps, err)
		}
	}
}
