package cli

type demoCommand struct{}
