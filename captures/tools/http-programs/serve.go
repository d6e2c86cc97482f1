// serve serves a folder and a generated page with Go's net/http: serve ADDRESS FOLDER.
package main

import (
	"net/http"
	"os"
)

func main() {
	http.Handle("/index.html", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("<!doctype html><title>Huginn</title><p>A page.\n"))
	}))
	http.Handle("/", http.FileServer(http.Dir(os.Args[2])))
	panic(http.ListenAndServe(os.Args[1], nil))
}
