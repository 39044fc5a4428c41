// A Go program, for `.ci/advise-trouble`.
package main

import "time"

func main() { time.Sleep(300 * time.Millisecond) }
