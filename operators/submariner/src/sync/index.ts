export * from './content.ts';
export * from './in-force.ts';
export * from './policy-record.ts';
export * from './published-outcomes.ts';
export * from './sync-owned.ts';
export * from './sync-policy.ts';
