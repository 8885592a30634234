export * from './webhook-certificate.ts';
export * from './webhook-server.ts';
