export * from './leader-election.ts';
export * from './leadership.ts';
export type { LeaseTimes } from './lease-record.ts';
