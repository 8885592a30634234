// Every error that this package throws for others to handle. Five types, distinguished by their class or by the guards:
//
//   ApiError        the server answered, and said no (its Status, parsed)
//   TransportError  no answer came, or none that could be understood
//   ConfigError     what we were given to connect with is wrong (a kubeconfig, a certificate, an exec plugin)
//   InvalidValueError  a selector, duration, quantity, time or patch that is not one
//   CodedError      anything else; created by a catalogue
//
// A message is one sentence: what was attempted, on what, what went wrong, and after a semicolon what to do. It never
// holds a token, a password or a query string, so the command line can print it as it is.

export * from './errors/api-error.ts';
export * from './errors/coded-error.ts';
export * from './errors/config-error.ts';
export * from './errors/guards.ts';
export * from './errors/request-error.ts';
export * from './errors/transport-error.ts';
export * from './errors/value-error.ts';
