// Every error that this package throws for callers to handle. There are five types, distinguished by their class or by the guards:
//
//   ApiError        the server answered and refused the request (its Status, parsed)
//   TransportError  no answer came, or none that could be parsed
//   ConfigError     the connection settings are wrong (a kubeconfig, a certificate, an exec plugin)
//   InvalidValueError  a malformed selector, duration, quantity, time or patch
//   CodedError      any other error; created by a catalogue
//
// A message is one sentence: the operation, its object, the problem, and the remedy after a semicolon. It never holds a token,
// a password or a query string, so that the command line can print it unchanged.

export * from './errors/api-error.ts';
export * from './errors/coded-error.ts';
export * from './errors/config-error.ts';
export * from './errors/guards.ts';
export * from './errors/request-error.ts';
export * from './errors/transport-error.ts';
export * from './errors/value-error.ts';
