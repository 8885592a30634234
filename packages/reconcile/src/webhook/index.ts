export { checkAdmission } from '../admission-check.ts';
export * from './webhook-certificate.ts';
export * from './webhook-server.ts';
