// Package market serves /v1/market, where a customer's platform sees the apps on its license and asks for changes.
package market
