// The kinds that --disable-feature leaves out: they are neither watched nor served, as if the cluster did not have them.
import { ApiError, type Client, type Kind } from '@capstan/kube';
import type { Feature } from '../configuration/serve-flags.ts';

/** The client of a cluster that does not have the kinds of these features. */
export function withoutFeatures(client: Client, disabled: readonly Feature[]): Client {
  if (disabled.length === 0) return client;
  const refuse = ({ plural }: Kind) => {
    if (!disabled.some((feature) => feature === plural)) return;
    const status = { message: `the feature ${plural} is disabled`, reason: 'NotFound', code: 404 };
    throw new ApiError({ code: 404, status, method: 'GET', path: plural, address: '--disable-feature' });
  };
  return {
    ...client,
    async list(kind, options) {
      refuse(kind);
      return client.list(kind, options);
    },
    async watch(kind, options) {
      refuse(kind);
      return client.watch(kind, options);
    },
  };
}
