package receiver_test

import (
	"database/sql"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/receiver"
)

func ExampleNewSQL() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	verifier, err := client.NewVerifier(os.Getenv("PUNCTUAL_SIGNING_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	charge := func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		var order struct{ ID, Cents int64 }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			http.Error(w, "no order", http.StatusBadRequest)
			return nil
		}
		_, err := tx.ExecContext(r.Context(), "INSERT INTO charges (order_id, cents) VALUES ($1, $2)", order.ID, order.Cents)
		return err
	}
	handler, err := receiver.NewSQL(db, receiver.PostgreSQL, charge, receiver.Options{Verifier: verifier})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("POST /charge", handler)
}
