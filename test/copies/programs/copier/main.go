// Command copier is the core of Litestream with a directory as its replica. It takes a
// tenth of the time to build that all of Litestream takes, with its stores in the cloud.
//
//	copier replicate DATABASE REPLICA
//	copier restore REPLICA DATABASE
//
// replicate copies until it is killed. It prints a line once it has begun, and answers each
// line on standard input with one when all that was committed before is in the replica.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if len(args) != 3 {
		return errors.New("copier replicate DATABASE REPLICA, or copier restore REPLICA DATABASE")
	}
	switch args[0] {
	case "replicate":
		return replicate(ctx, args[1], args[2])
	case "restore":
		return restore(ctx, args[1], args[2])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func replicate(ctx context.Context, path, dir string) error {
	db := litestream.NewDB(path)
	client := file.NewReplicaClient(dir)
	db.Replica = litestream.NewReplicaWithClient(db, client)
	client.Replica = db.Replica
	store := litestream.NewStore([]*litestream.DB{db}, litestream.DefaultCompactionLevels)
	if err := store.Open(ctx); err != nil {
		return err
	}
	fmt.Println("started")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := db.SyncAndWait(ctx); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("synced")
	}
	return store.Close(ctx)
}

func restore(ctx context.Context, dir, path string) error {
	options := litestream.NewRestoreOptions()
	options.OutputPath = path
	return litestream.NewReplicaWithClient(nil, file.NewReplicaClient(dir)).Restore(ctx, options)
}
