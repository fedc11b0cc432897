// Package service is a typed client for the messaging service's API: errors, rate limit, retries by contract.
//
// A Client makes one request per call and repeats nothing by itself: only its caller knows whether the call has a key
// that makes a repeat harmless, or has to look first. What the caller needs for that decision is in [Error]: the status,
// the service's code, how long to wait, and whether the call may have had its effect although it failed.
// There is one exception. A 429 means that nothing happened, so a client made with [Client.Patient] waits
// out the pause and asks again.
//
// A 429 pauses the [Limiter] of the key: every call that shares it waits until the pause is over, then leaves.
//
// The reference of the service names its operations but few of the fields it answers with. Everything it leaves open is a
// setting in a [Profile]: for each value a list of candidate paths, the first one that fits wins. The objects of webhook
// events are decoded through the same profile.
package service
