module github.com/punctual-dev/punctual

go 1.26
