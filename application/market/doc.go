// Package market holds the use cases of a customer's platform: what it may see of the apps on its license, the intents
// by which it asks for an install, an upgrade or an uninstall, and its word on what it installed (E3, E4, E7).
//
// A customer is a deployment together with its license: whoever asks names the one and proves the other, and sees
// nothing of any app that is not on the license. Berth never reaches into a cluster for an answer: what is deployed is
// what the agent reported.
package market
