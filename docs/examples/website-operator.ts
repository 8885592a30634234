// A whole operator: a Website becomes a ConfigMap with its pages, the Deployment that serves them, and a Service.
import { ConfigMap, conditions, Deployment, defineKind, integer, map, object, Service, string } from '@capstan/kube';
import { apply, conditionType, drop, operator, plan, reading, reconciler } from '@capstan/reconcile';

export const Website = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
  spec: object({
    pages: map(string(), { description: 'What is served: file names and their content.', minProperties: 1 }),
    replicas: integer({ default: 2, minimum: 0, maximum: 100 }),
    port: integer({ default: 80, minimum: 0, maximum: 65_535, description: 'Of its Service; 0 for none.' }),
    image: string({ default: 'nginx:1.29', description: 'A web server that serves /usr/share/nginx/html on port 80.' }),
  }),
  status: object({ url: string({ optional: true }), conditions: conditions() }),
  printerColumns: [{ name: 'Ready', jsonPath: '.status.conditions[?(@.type=="Ready")].status' }],
});

const ready = conditionType<'Available' | 'Starting'>('Ready');
const available = (deployment: Deployment) => deployment.status?.availableReplicas ?? 0;

const website = reconciler({
  name: 'website',
  resource: Website,
  reads: [reading(Deployment, 'owned')],
  writes: [ConfigMap, Deployment, Service],
  reconcile({ object: { metadata, spec }, read, digest }) {
    const { name = '', namespace = '' } = metadata;
    const ref = { name, namespace };
    const labels = { 'app.kubernetes.io/name': name };
    // Pods see new files by themselves after a minute; the digest rolls them at once, and only when a page changed.
    const annotations = { 'example.capstan.dev/pages': digest(spec.pages) };
    const content = [{ name: 'pages', mountPath: '/usr/share/nginx/html' }];
    const containers = [{ name: 'web', image: spec.image, ports: [{ containerPort: 80 }], volumeMounts: content }];
    const volumes = [{ name: 'pages', configMap: { name } }];
    const template = { metadata: { labels, annotations }, spec: { containers, volumes } };
    const workload = { replicas: spec.replicas, selector: { matchLabels: labels }, template };
    const ports = [{ port: spec.port, targetPort: 80 }];
    const running = read.get(Deployment, ref, available) ?? 0;
    return plan({
      children: [
        apply(ConfigMap, { metadata: ref, data: spec.pages }),
        apply(Deployment, { metadata: { ...ref, labels }, spec: workload }),
        ...(spec.port === 0 ? [] : [apply(Service, { metadata: ref, spec: { selector: labels, ports } })]),
      ],
      status: { url: spec.port === 0 ? drop() : `http://${name}.${namespace}.svc:${spec.port}` },
      conditions: [
        running >= spec.replicas
          ? ready.isTrue('Available', `${running} pods serve the pages`)
          : ready.isFalse('Starting', `${running} of ${spec.replicas} pods are available; see kubectl get pods`),
      ],
    });
  },
});

export default operator({ name: 'website', kinds: [Website], reconcilers: [website] });
