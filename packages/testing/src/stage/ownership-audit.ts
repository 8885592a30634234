// Holds every test on a stage to one rule: the program deletes and replaces only objects that it created. These are known by the uid in the
// answer to their creation, so no label, name or annotation can deceive the audit.
import type { ApiRequest, ApiResponse, KubeObject, Transport } from '@capstan/kube';
import { TestingErrors } from '../errors.ts';

export interface OwnershipAudit {
  /** Wraps a transport: its requests count as the program's. */
  over(inner: Transport): Transport;
  /** Throws when the program deleted or replaced an object that it did not create. */
  check(): void;
}

/** `ruled` names the ruling under which the program may remove or renew objects of others in this test. */
export function createOwnershipAudit(ruled?: string): OwnershipAudit {
  const created = new Set<string>();
  const broken = new Set<string>();
  const take = (request: ApiRequest, answer: ApiResponse) => {
    if (request.query?.['dryRun'] !== undefined || answer.status >= 300) return;
    const uid = uidOf(answer.body);
    if (answer.status === 201 && uid !== undefined) created.add(uid);
    const target = targetOf(request);
    if (target === undefined || ruled !== undefined) return;
    if (target.uid === undefined || !created.has(target.uid)) broken.add(`${request.method} ${request.path}`);
  };
  return {
    over: (inner) => ({
      address: inner.address,
      async request(request) {
        const answer = await inner.request(request);
        take(request, answer);
        return answer;
      },
      watch: (request) => inner.watch(request),
      close: () => inner.close(),
    }),
    check() {
      if (broken.size > 0) throw TestingErrors.NotCreated([...broken]);
    },
  };
}

/** The object that a request removes or replaces as a whole; undefined for any other request. */
function targetOf({ method, path, body }: ApiRequest): { readonly uid: string | undefined } | undefined {
  if (method === 'DELETE') return { uid: (body as DeleteOptions | undefined)?.preconditions?.uid };
  // A Lease is renewed by whichever replica holds it, and a status is no object.
  if (method !== 'PUT' || path.endsWith('/status') || path.includes('/leases/')) return undefined;
  return { uid: uidOf(body) };
}

interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string };
}

function uidOf(body: unknown): string | undefined {
  return (body as KubeObject | undefined)?.metadata?.uid;
}
