// The account under which a program runs on a stage: a ServiceAccount with exactly the permissions that its operators declare.
import { type Client, isAlreadyExists, type Kind, type KubeObject, type Transport } from '@capstan/kube';
import { type Operator, rbacManifests, writePolicies } from '@capstan/reconcile';
import { TestingErrors } from '../errors.ts';

/** As in the Subjects of bindings and in client certificates. */
export interface Account {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface AccountOptions {
  /** Where the program runs; default `default`. */
  namespace?: string;
  watchNamespaces?: readonly string[];
}

const NAME = 'capstan-on-stage';

/**
 * Makes the account with the generated roles of all the operators, and nothing beside them; one that is there gets these. The admission
 * policies of the account hold too.
 */
export async function grantAccount(
  client: Client,
  operators: readonly Operator[],
  { namespace = 'default', watchNamespaces }: AccountOptions,
): Promise<Account> {
  for (const [index, operator] of operators.entries()) {
    const name = operators.length === 1 ? NAME : `${NAME}-${index}`;
    const options = { namespace, systemNamespace: namespace, name, ...(watchNamespaces && { watchNamespaces }) };
    for (const manifest of rbacManifests(operator, options)) {
      const kind = kindOf(manifest);
      await client.create(kind, boundTo(manifest, NAME)).catch(async (error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
        const { rules } = manifest as KubeObject & { rules?: readonly object[] };
        const { namespace: place, name: own = '' } = manifest.metadata;
        if (rules !== undefined)
          await client.patch(kind, { ...(place && { namespace: place }), name: own }, 'merge', { rules });
      });
    }
  }
  for (const policy of writePolicies(operators, { namespace, systemNamespace: namespace, account: NAME })) {
    const kind = kindOf(policy);
    // The next stage on the same server may have other operators.
    await client.apply(kind, policy, { fieldManager: NAME, force: true });
  }
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { name: `system:serviceaccount:${namespace}:${NAME}`, groups };
}

/** One program runs under one account, however many operators are in it. */
function boundTo(manifest: KubeObject, account: string): KubeObject {
  if (manifest.kind === 'ServiceAccount') return { ...manifest, metadata: { ...manifest.metadata, name: account } };
  const { subjects } = manifest as KubeObject & { subjects?: readonly object[] };
  if (subjects === undefined) return manifest;
  return { ...manifest, subjects: subjects.map((subject) => ({ ...subject, name: account })) } as KubeObject;
}

function kindOf({ apiVersion, kind }: KubeObject): Kind {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const isOfCluster =
    kind.startsWith('Cluster') || kind.startsWith('ValidatingAdmissionPolicy') || kind === 'Namespace';
  const plural = kind.endsWith('y') ? `${kind.slice(0, -1).toLowerCase()}ies` : `${kind.toLowerCase()}s`;
  return { group, version, kind, plural, scope: isOfCluster ? 'Cluster' : 'Namespaced', apiVersion };
}

export interface WatchedAccount {
  readonly transport: Transport;
  /** Throws when a request was denied since the program started. */
  check(): void;
}

/** Wraps a transport, and remembers the requests that the server denied. */
export function watchedAccount(inner: Transport): WatchedAccount {
  const denied = new Set<string>();
  const check = (line: string, answer: object) => {
    if ('status' in answer && (answer.status === 401 || answer.status === 403)) denied.add(line);
  };
  return {
    transport: {
      address: inner.address,
      async request(request) {
        const answer = await inner.request(request);
        check(`${request.method} ${request.path}`, answer);
        return answer;
      },
      async watch(request) {
        const answer = await inner.watch(request);
        check(`WATCH ${request.path}`, answer);
        return answer;
      },
      close: () => inner.close(),
    },
    check() {
      if (denied.size > 0) throw TestingErrors.Denied([...denied]);
    },
  };
}
