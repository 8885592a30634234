export type { LogLevel } from './format.ts';
export * from './logger.ts';
export { createRedactor, isSensitiveName, REDACTED, type Redactor } from './redaction.ts';
