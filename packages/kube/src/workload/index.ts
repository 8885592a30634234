export * from './pod-problem.ts';
export * from './rollout-progress.ts';
export * from './stuck-reasons.ts';
