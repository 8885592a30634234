export * from './content.ts';
export * from './sync-owned.ts';
export * from './sync-policy.ts';
