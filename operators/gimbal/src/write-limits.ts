/**
 * How much a discoverer may write to its own cluster, unless the backend says otherwise: a thousand services are there within
 * 20 seconds, and an API server has room for others beside ten discoverers that start at once.
 */
export const WRITE_LIMITS = { qps: 100, burst: 200 };
