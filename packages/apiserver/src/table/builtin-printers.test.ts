import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { builtinPrinter } from './builtin-printers.ts';

const NOW = Date.UTC(2026, 0, 2);
const meta = (name: string, more: object = {}) => ({ name, creationTimestamp: '2026-01-01T23:57:00Z', ...more });

/** Columns and cells as `kubectl get -o wide` would show them. */
function row(id: string, parts: object, metadata: object = meta('a')): Record<string, unknown> {
  const { columns, cells } = builtinPrinter(id);
  const values = cells({ apiVersion: 'v1', kind: 'X', metadata, ...parts }, NOW);
  assert.equal(values.length, columns.length);
  return Object.fromEntries(columns.map(({ name }, index) => [name, values[index]]));
}

const template = {
  selector: { matchLabels: { app: 'a' } },
  template: {
    spec: {
      containers: [
        { name: 'x', image: 'i' },
        { name: 'y', image: 'j' },
      ],
    },
  },
};

describe('columns of the built-in kinds', () => {
  it('shows a deployment with its counts, and its template when wide', () => {
    const shown = row('deployments.apps', {
      spec: { replicas: 3, ...template },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    });
    assert.deepEqual(shown, {
      Name: 'a',
      Ready: '2/3',
      'Up-to-date': 3,
      Available: 1,
      Age: '3m',
      Containers: 'x,y',
      Images: 'i,j',
      Selector: 'app=a',
    });
    const wide = builtinPrinter('deployments.apps').columns.filter(({ priority }) => priority > 0);
    assert.deepEqual(
      wide.map(({ name }) => name),
      ['Containers', 'Images', 'Selector'],
    );
  });

  it('shows replica sets, daemon sets and stateful sets', () => {
    const replicas = row('replicasets.apps', {
      spec: { replicas: 2, ...template },
      status: { replicas: 2, readyReplicas: 1 },
    });
    assert.deepEqual([replicas['Desired'], replicas['Current'], replicas['Ready']], [2, 2, 1]);
    const daemons = row('daemonsets.apps', { spec: template, status: { desiredNumberScheduled: 4, numberReady: 3 } });
    assert.deepEqual([daemons['Desired'], daemons['Ready'], daemons['Node Selector']], [4, 3, '<none>']);
    assert.equal(row('statefulsets.apps', { spec: { replicas: 1, ...template } })['Ready'], '0/1');
  });

  const services: [string, object, Record<string, string>][] = [
    [
      'a cluster address',
      { spec: { type: 'ClusterIP', clusterIPs: ['127.96.0.2'], ports: [{ port: 80, protocol: 'TCP' }] } },
      { 'Cluster-IP': '127.96.0.2', 'External-IP': '<none>', 'Port(s)': '80/TCP', Selector: '<none>' },
    ],
    [
      'a node port',
      {
        spec: {
          type: 'NodePort',
          ports: [{ port: 80, nodePort: 30001, protocol: 'TCP' }],
          selector: { b: '2', a: '1' },
        },
      },
      { 'Cluster-IP': '<none>', 'Port(s)': '80:30001/TCP', Selector: 'a=1,b=2' },
    ],
    ['a balancer that is not there yet', { spec: { type: 'LoadBalancer' } }, { 'External-IP': '<pending>' }],
    [
      'a balancer',
      {
        spec: { type: 'LoadBalancer', externalIPs: ['9.9.9.9'] },
        status: { loadBalancer: { ingress: [{ ip: '2.2.2.2' }, { hostname: 'a.example' }] } },
      },
      { 'External-IP': '2.2.2.2,a.example,9.9.9.9' },
    ],
    ['an alias', { spec: { type: 'ExternalName', externalName: 'x.example' } }, { 'External-IP': 'x.example' }],
  ];
  for (const [name, parts, expected] of services) {
    it(`shows a service with ${name}`, () => {
      const shown = row('services', parts);
      for (const [column, value] of Object.entries(expected)) assert.equal(shown[column], value, column);
    });
  }

  it('shows endpoints, at most three of them', () => {
    const addresses = [1, 2, 3, 4].map((number) => ({ ip: `10.0.0.${number}` }));
    const shown = row('endpoints', { subsets: [{ addresses, ports: [{ port: 80 }] }] });
    assert.equal(shown['Endpoints'], '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...');
    assert.equal(row('endpoints', {})['Endpoints'], '<none>');
    const slice = row('endpointslices.discovery.k8s.io', {
      addressType: 'IPv4',
      ports: [{ port: 80 }, { name: 'x' }],
      endpoints: [],
    });
    assert.deepEqual([slice['AddressType'], slice['Ports'], slice['Endpoints']], ['IPv4', '80,x', '<unset>']);
  });

  it('shows ingresses with class, hosts, address and ports', () => {
    const shown = row('ingresses.networking.k8s.io', {
      spec: { ingressClassName: 'x', rules: [{ host: 'a' }, { host: 'b' }, { host: 'c' }, { host: 'd' }], tls: [{}] },
      status: { loadBalancer: { ingress: [{ ip: '1.1.1.1' }] } },
    });
    assert.deepEqual(
      [shown['Class'], shown['Hosts'], shown['Address'], shown['Ports']],
      ['x', 'a,b,c + 1 more...', '1.1.1.1', '80, 443'],
    );
    const bare = row('ingresses.networking.k8s.io', { spec: {} });
    assert.deepEqual([bare['Class'], bare['Hosts'], bare['Address'], bare['Ports']], ['<none>', '*', '', '80']);
  });

  it('marks the default ingress class and names its parameters', () => {
    const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
    const spec = { controller: 'c', parameters: { apiGroup: 'g', kind: 'P', name: 'n' } };
    const shown = row('ingressclasses.networking.k8s.io', { spec }, meta('a', { annotations }));
    assert.deepEqual([shown['Name'], shown['Parameters']], ['a (default)', 'P.g/n']);
  });

  it('shows an event by when it was last seen', () => {
    const shown = row('events', {
      type: 'Warning',
      reason: 'Failed',
      message: ' it broke\n',
      involvedObject: { kind: 'Pod', name: 'p' },
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '2026-01-01T23:00:00Z',
      lastTimestamp: '2026-01-01T23:59:50Z',
      count: 4,
    });
    assert.deepEqual(
      [shown['Last Seen'], shown['Object'], shown['Message'], shown['Source'], shown['First Seen'], shown['Count']],
      ['10s', 'pod/p', 'it broke', 'kubelet, n1', '60m', 4],
    );
    const series = { count: 9, lastObservedTime: '2026-01-01T23:59:59.000000Z' };
    const newer = row('events', { eventTime: '2026-01-01T23:59:00.000000Z', series, reportingComponent: 'x' });
    assert.deepEqual([newer['Last Seen'], newer['First Seen'], newer['Count'], newer['Source']], ['1s', '60s', 9, 'x']);
  });

  it('shows nodes with state, roles and addresses', () => {
    const labels = { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'edge' };
    const status = {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      nodeInfo: { kubeletVersion: 'v1', kernelVersion: '6.1', architecture: 'arm64' },
    };
    const shown = row('nodes', { spec: { unschedulable: true }, status }, meta('n', { labels }));
    assert.deepEqual(
      [shown['Status'], shown['Roles'], shown['Internal-IP'], shown['External-IP'], shown['Kernel-Version']],
      ['Ready,SchedulingDisabled', 'control-plane,edge', '127.0.0.1', '<none>', '6.1 (arm64)'],
    );
    assert.equal(row('nodes', {})['Status'], 'Unknown');
  });

  it('counts the entries of config maps and secrets', () => {
    assert.equal(row('configmaps', { data: { a: '' }, binaryData: { b: '' } })['Data'], 2);
    assert.deepEqual(row('secrets', { type: 'Opaque', data: { a: '' } }), {
      Name: 'a',
      Type: 'Opaque',
      Data: 1,
      Age: '3m',
    });
  });

  it('shows who is bound to which role', () => {
    const subjects = [
      { kind: 'User', name: 'u' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ];
    const shown = row('rolebindings.rbac.authorization.k8s.io', { roleRef: { kind: 'Role', name: 'r' }, subjects });
    assert.deepEqual(
      [shown['Role'], shown['Users'], shown['Groups'], shown['ServiceAccounts']],
      ['Role/r', 'u', 'g', 'n/s'],
    );
  });

  it('shows the smaller kinds', () => {
    assert.equal(row('leases.coordination.k8s.io', { spec: { holderIdentity: 'me' } })['Holder'], 'me');
    assert.equal(row('namespaces', { status: { phase: 'Active' } })['Status'], 'Active');
    assert.equal(row('networkpolicies.networking.k8s.io', { spec: { podSelector: {} } })['Pod-Selector'], '<none>');
    const budget = row('poddisruptionbudgets.policy', {
      spec: { maxUnavailable: '50%' },
      status: { disruptionsAllowed: 1 },
    });
    assert.deepEqual(
      [budget['Min Available'], budget['Max Unavailable'], budget['Allowed Disruptions']],
      ['N/A', '50%', 1],
    );
    const priority = row('priorityclasses.scheduling.k8s.io', { value: 5, preemptionPolicy: 'Never' });
    assert.deepEqual(
      [priority['Value'], priority['Global-Default'], priority['PreemptionPolicy']],
      [5, false, 'Never'],
    );
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: '1', controller: true };
    const revision = row('controllerrevisions.apps', { revision: 2 }, meta('a', { ownerReferences: [owner] }));
    assert.deepEqual([revision['Controller'], revision['Revision']], ['daemonset.apps/d', 2]);
    assert.equal(
      row('mutatingwebhookconfigurations.admissionregistration.k8s.io', { webhooks: [{}, {}] })['Webhooks'],
      2,
    );
  });

  it('shows the targets of an autoscaler', () => {
    const resource = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } };
    const pods = { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } };
    const shown = row('horizontalpodautoscalers.autoscaling', {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'web' },
        maxReplicas: 5,
        metrics: [
          { type: 'Resource', resource },
          { type: 'Pods', pods },
          { type: 'Pods', pods },
        ],
      },
      status: { currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 20 } } }] },
    });
    assert.deepEqual(
      [shown['Reference'], shown['Targets'], shown['MinPods'], shown['MaxPods'], shown['Replicas']],
      ['Deployment/web', 'cpu: 20%/80%, <unknown>/10 + 1 more...', '<unset>', 5, 0],
    );
    const spec = {
      scaleTargetRef: { kind: 'Deployment', name: 'web' },
      maxReplicas: 5,
      metrics: [{ type: 'Pods', pods }],
    };
    const status = { currentMetrics: [{ type: 'Pods', pods: { current: {} } }] };
    assert.equal(row('horizontalpodautoscalers.autoscaling', { spec, status })['Targets'], '<nil>/10');
  });

  it('shows when a kind without columns of its own was created', () => {
    assert.deepEqual(row('roles.rbac.authorization.k8s.io', {}), { Name: 'a', 'Created At': '2026-01-01T23:57:00Z' });
  });
});
