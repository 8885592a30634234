export * from './outcome.ts';
export * from './queue.ts';
export {
  type Bucket,
  createBucket,
  createRetryLimiter,
  keyBackOff,
  type RetryLimiter,
  type RetryLimits,
} from './rate-limit.ts';
export * from './workers.ts';
