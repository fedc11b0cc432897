// Package contract holds the client, the sandbox and the description of the service to each other.
package contract
