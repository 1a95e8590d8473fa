// Package agent is nettoll's control path: "nettoll agent" runs where an
// endpoint's processes run and answers requests on its standard input and
// output. Nothing listens, so there is nothing to authenticate, and when the
// input ends the agent ends.
//
// Both directions carry frames: four bytes with the length, most significant
// first, then one JSON object of that length. A request is
// {"id":1,"method":"m","params":…}; its response is {"id":1,"result":…} or
// {"id":1,"error":"…"}. Requests are handled concurrently and answered in any
// order. The method "cancel" takes the id of a request that nobody waits for any
// more and is not answered.
package agent
