/**
 * The default limits of a discoverer's writes to its own cluster: a thousand services are written within 20 seconds, and an API server can
 * serve others beside ten discoverers that start at once.
 */
export const WRITE_LIMITS = { qps: 100, burst: 200 };
