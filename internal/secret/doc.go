// Package secret keeps the secrets that header values of jobs refer to: encrypted at
// rest, sent only to the hosts that they are for, and masked where a target repeats
// them. [OpenKeyring] reads the key file; a [Vault] has the secrets.
//
// A Keyring encrypts with AES-256-GCM, with the record that a value belongs to
// as additional data. A Vault creates, lists and deletes secrets, and sends a
// job's request with its placeholders replaced; it also exchanges OAuth2 client
// credentials for tokens. Reencrypt brings all stored values, signing secrets
// of accounts included, to the Keyring's first key.
package secret
