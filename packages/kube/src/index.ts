export * from './client/client.ts';
export * from './client/transport.ts';
export * from './clock.ts';
export * from './kind.ts';
export * from './logger.ts';
export * from './object.ts';
