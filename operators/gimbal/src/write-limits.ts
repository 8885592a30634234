/** How much a discoverer may write to its own cluster, unless the backend says otherwise: ten are no burden to an API server. */
export const WRITE_LIMITS = { qps: 50, burst: 100 };
