// A pod's identity towards the API: tokens of its ServiceAccount, kept until most of their life is over, and the volume
// that Kubernetes mounts for them where the server has not put it into the pod already.
import { isApiError, type Pod, parseTime, type Volume } from '@capstan/kube';
import type { Toolkit } from '../controller/toolkit.ts';

export const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const DEFAULT_SECONDS = 3600;
/** A token is renewed when this part of its life is over, as kubelets do. */
const RENEW_AT = 0.8;

export type TokenSource = (audience: string | undefined, seconds: number | undefined) => Promise<string>;

/** Tokens bound to the pod. */
export function createTokenSource({ client, clock }: Toolkit, pod: Pod): TokenSource {
  const { name, namespace = '', uid } = pod.metadata;
  const account = pod.spec?.serviceAccountName || 'default';
  const tokens = new Map<string, { token: string; renewAt: number }>();
  return async (audience, seconds = DEFAULT_SECONDS) => {
    const id = `${audience ?? ''}/${seconds}`;
    const known = tokens.get(id);
    if (known !== undefined && clock.now() < known.renewAt) return known.token;
    const spec = {
      ...(audience === undefined ? {} : { audiences: [audience] }),
      expirationSeconds: seconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
    };
    const { body } = await client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec },
    });
    // The API's own answer to a TokenRequest.
    const { status } = body as { status: { token: string; expirationTimestamp: string } };
    const life = parseTime(status.expirationTimestamp) - clock.now();
    tokens.set(id, { token: status.token, renewAt: clock.now() + life * RENEW_AT });
    return status.token;
  };
}

/** The volume that gives the pod its ServiceAccount, unless it has one there or does not want it. */
export function accountVolume(pod: Pod): Volume | undefined {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const hasOwn = containers.some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ mountPath }) => mountPath.replace(/\/$/, '') === ACCOUNT_FOLDER),
  );
  if (hasOwn || pod.spec?.automountServiceAccountToken === false) return undefined;
  return {
    name: 'capstan-service-account',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token' } },
        {
          configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }], optional: true },
        },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
      ],
    },
  };
}

/** The server does not give tokens, or has no such account: the pod goes without. */
export function isWithoutTokens(error: unknown): boolean {
  return isApiError(error) && (error.code === 404 || error.code === 405 || error.code === 403);
}
