// Reads a log by go-mysql, from files or from a server, and prints the rows that result.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

var rows = map[string][]string{}
var payloads = 0

func fail(text string, about ...any) {
	fmt.Fprintf(os.Stderr, text+"\n", about...)
	os.Exit(1)
}

// Columns of bytes, by number: they are shown in hexadecimal digits.
const firstBinary, lastBinary, jsonColumn = 12, 13, 18

func shown(row []any) []string {
	out := make([]string, len(row))
	for at, value := range row {
		text := ""
		switch value := value.(type) {
		case nil:
			out[at] = "NULL"
			continue
		case []byte:
			text = string(value)
		default:
			text = fmt.Sprint(value)
		}
		if at == firstBinary || at == lastBinary {
			text = fmt.Sprintf("%X", text)
		}
		if at == jsonColumn {
			text = strings.ReplaceAll(text, " ", "")
		}
		out[at] = text
	}
	return out
}

func take(event *replication.BinlogEvent) error {
	switch body := event.Event.(type) {
	case *replication.TransactionPayloadEvent:
		payloads++
		for _, inner := range body.Events {
			if err := take(inner); err != nil {
				return err
			}
		}
	case *replication.RowsEvent:
		changes := body.Rows
		kind := body.Type()
		for at := 0; at < len(changes); at++ {
			var before, after []string
			switch kind {
			case replication.EnumRowsEventTypeInsert:
				after = shown(changes[at])
			case replication.EnumRowsEventTypeDelete:
				before = shown(changes[at])
			default:
				before, after = shown(changes[at]), shown(changes[at+1])
				at++
			}
			if before != nil {
				if !reflect.DeepEqual(before, rows[before[0]]) {
					return fmt.Errorf("before a change: %v, known: %v", before, rows[before[0]])
				}
				delete(rows, before[0])
			}
			if after != nil {
				rows[after[0]] = after
			}
		}
	}
	return nil
}

func main() {
	switch os.Args[1] {
	case "files":
		for _, file := range os.Args[2:] {
			parser := replication.NewBinlogParser()
			parser.SetTimestampStringLocation(time.UTC)
			if err := parser.ParseFile(file, 0, take); err != nil {
				fail("%s: %v", file, err)
			}
		}
	case "server":
		port, _ := strconv.Atoi(os.Args[2])
		syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
			ServerID: 4712, Flavor: "mysql", Host: "127.0.0.1", Port: uint16(port), User: "root",
			TimestampStringLocation: time.UTC,
		})
		defer syncer.Close()
		stream, err := syncer.StartSync(mysql.Position{Name: os.Args[3], Pos: 4})
		if err != nil {
			fail("%v", err)
		}
		for {
			// Nothing comes for a while: that was all.
			patience, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			event, err := stream.GetEvent(patience)
			cancel()
			if patience.Err() != nil && err != nil {
				break
			}
			if err != nil {
				fail("%v", err)
			}
			if err := take(event); err != nil {
				fail("%v", err)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%d payloads\n", payloads)
	for _, row := range rows {
		fmt.Println(strings.Join(row, "|"))
	}
}
