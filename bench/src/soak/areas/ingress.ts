// Ingress: HTTPProxies that come, go and are wrong for a while, a certificate that is renewed, and the certificates between the control
// plane and Envoy, which are deleted.
import { type Client, Secret } from '@capstan/kube';
import { HTTPProxy, SesameDeployment } from '@capstan/sesame';
import { type Area, conditionProblem, createPool, put, remove, type Seen } from './area.ts';
import type { Certificates } from './certificates.ts';

const NAMESPACE = 'default';
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const OWN_CERTIFICATES = ['envoycert-edge', 'sesamecert-edge'];

export function ingressArea(client: Client, certificates: Certificates): Area {
  const pool = createPool(20);
  const nameOf = (index: number) => `host-${index}`;
  let replicas = 1;
  const renew = async () =>
    put(client, Secret, ref('host-tls'), { type: 'kubernetes.io/tls', stringData: await certificates.next('host') });

  return {
    name: 'ingress',
    prepare: renew,
    async edit(random) {
      if (random.chance(0.1)) return renew();
      if (random.chance(0.03)) return remove(client, Secret, ref(random.pick(OWN_CERTIFICATES)));
      if (random.chance(0.03)) {
        replicas = 3 - replicas;
        await client.patch(SesameDeployment, ref('edge'), 'merge', { spec: { replicas } });
        return;
      }
      const { index, isPresent } = pool.pick(random);
      const name = nameOf(index);
      if (isPresent && random.chance(0.4)) {
        pool.present.delete(index);
        return remove(client, HTTPProxy, ref(name));
      }
      const isValid = random.chance(0.8);
      const tls = index % 2 === 0 ? { tls: { secretName: 'host-tls' } } : {};
      await put(client, HTTPProxy, ref(name), {
        spec: {
          virtualhost: { fqdn: `${name}.test`, ...tls },
          routes: [
            { services: [{ name: 'store', port: 80, weight: random.integer(1, 99) }] },
            { conditions: [{ prefix: '/basket' }], services: [{ name: isValid ? 'basket' : 'missing', port: 80 }] },
          ],
        },
      });
      pool.present.set(index, isValid);
    },
    async unsettled() {
      const problems: string[] = [];
      for (const [index, isValid] of pool.present) {
        const found = (await client.find(HTTPProxy, ref(nameOf(index)))) as Seen | undefined;
        problems.push(
          ...conditionProblem(found, `HTTPProxy ${nameOf(index)}`, 'Valid', isValid === true ? 'True' : 'False'),
        );
      }
      const edge = (await client.find(SesameDeployment, ref('edge'))) as Seen | undefined;
      problems.push(
        ...conditionProblem(edge, 'SesameDeployment edge', 'Available', 'True'),
        ...conditionProblem(edge, 'SesameDeployment edge', 'Progressing', 'False'),
      );
      for (const name of OWN_CERTIFICATES)
        if ((await client.find(Secret, ref(name))) === undefined) problems.push(`Secret ${name} was not recreated`);
      return problems;
    },
  };
}
