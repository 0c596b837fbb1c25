package main

import (
	"context"
	"io"
)

// server keeps the records of the contenders, in every run others.
type server interface {
	about(ctx context.Context) string // product, version, and what else its speed depends on
	cpu(ctx context.Context) *float64 // processor time in seconds that it has used, nil if that is not known
	forget(s stage)                   // removes the records of a run
	io.Closer
}

// openServer connects to the server that -store names.
func openServer(ctx context.Context, s settings) (server, error) {
	switch s.Store {
	case inRedis:
		return openRedis(ctx, s.Redis)
	case inMySQL:
		return openMySQL(ctx, s.MySQL)
	case inSQLite:
		return sqliteFiles{}, nil
	}
	return noServer{}, nil
}

// noServer is for records inside the contender's process.
type noServer struct{}

func (noServer) about(context.Context) string { return "" }

func (noServer) cpu(context.Context) *float64 { return nil }

func (noServer) forget(stage) {}

func (noServer) Close() error { return nil }
