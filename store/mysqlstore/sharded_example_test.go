package mysqlstore_test

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// Orders are in one database for each region, and so are the records of their
// messages.
func ExampleNewSharded() {
	regions := []string{"north", "south"}
	var shards []*mysqlstore.Store
	for _, region := range regions {
		db, err := sql.Open("mysql", "dedup:password@tcp("+region+".example:3306)/orders?innodb_lock_wait_timeout=1")
		if err != nil {
			fmt.Println(err)
			return
		}
		defer db.Close()
		shard, err := mysqlstore.New(db, mysqlstore.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		shards = append(shards, shard)
	}
	pick := func(k store.Key) int { // an ID is such as "south-4711"
		for i, region := range regions {
			if strings.HasPrefix(k.ID, region+"-") {
				return i
			}
		}
		return -1 // refused: better than in the wrong database
	}
	records, err := mysqlstore.NewSharded(pick, shards...)
	if err != nil {
		fmt.Println(err)
		return
	}
	var _ store.Store = records
	fmt.Println(pick(store.Key{ID: "south-4711"}))
	// Output: 1
}
