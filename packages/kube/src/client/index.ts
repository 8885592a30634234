export { type RequestObservation } from './caller.ts';
export * from './client.ts';
export { type ClientOptions, createClient } from './create-client.ts';
export { failureOf } from './failure.ts';
export * from './http/credentials.ts';
export { createHttpTransport, type HttpTransportOptions } from './http/http-transport.ts';
export { isRepeatable, type RetryOptions } from './retry.ts';
export { errorOfResponse, errorOfWatchEvent, isStatus } from './status.ts';
export * from './transport.ts';
