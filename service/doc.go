// Package service is a typed client for the messaging service's API: errors, rate limit, retries by
// contract.
//
// A Client makes one request per call and does not retry by itself: only its caller knows whether
// the call has a key that makes a repeat harmless, or has to read first. What the caller needs for
// that decision is in [Error]: the status, the service's code, how long to wait, and whether the
// call may have had its effect although it failed. There is one exception. A 429 means that nothing
// happened, so a client made with [Client.Patient] waits out the pause and retries.
//
// A 429 pauses the [Limiter] of the key: every call that shares it waits until the pause is over.
//
// The reference of the service names its operations but few of the fields of its answers.
// Everything it leaves open is a setting in a [Profile]: for each value a list of candidate paths,
// of which the first match wins. The objects of webhook events are decoded through the same
// profile.
package service
