import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EndpointSlice, Endpoints, Service } from '@capstan/kube';
import { MIRROR_ANNOTATION } from '../mirror/metadata.ts';
import type { Finding } from '../mirror/mirror.ts';
import { managedDigest } from '../mirror/projection.ts';
import { mapService, type RemoteService } from './map-service.ts';

const BACKEND = 'gimbal.heptio.com/backend';

function service(parts: Partial<Service['metadata']> = {}, spec: Partial<Service['spec']> = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'team', name: 'web', ...parts },
    spec: { ports: [{ port: 80 }], ...spec },
  };
}

function slice(name: string, addresses: readonly string[], parts: Partial<EndpointSlice> = {}): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'team', name, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ...parts,
  };
}

const map = (remote: RemoteService, writeEndpoints = false) => mapService(remote, { backend: 'east', writeEndpoints });

function present(finding: Finding) {
  assert.equal(finding.state, 'present');
  return finding;
}

describe('a service of a remote cluster', () => {
  it('becomes a headless Service with ports, protocols and application protocols (D13), and a slice a slice (D12)', () => {
    const remote = service(
      { labels: { app: 'web' } },
      {
        type: 'NodePort',
        clusterIP: '10.96.0.1',
        selector: { app: 'web' },
        ports: [
          { name: 'http', port: 80, targetPort: 'http', nodePort: 30_080, appProtocol: 'kubernetes.io/h2c' },
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'diameter', port: 3868, protocol: 'SCTP' },
        ],
      },
    );
    const { mirror, upstreamEndpoints } = present(map({ service: remote, slices: [slice('web-1', ['10.0.0.1'])] }));
    assert.deepEqual(mirror.service.spec, {
      type: 'ClusterIP',
      clusterIP: 'None',
      ports: [
        { name: 'http', port: 80, protocol: 'TCP', targetPort: 80, appProtocol: 'kubernetes.io/h2c' },
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
        { name: 'diameter', port: 3868, protocol: 'SCTP', targetPort: 3868 },
      ],
    });
    assert.equal(mirror.service.metadata.name, 'east-web');
    assert.deepEqual(mirror.service.metadata.labels, {
      app: 'web',
      [BACKEND]: 'east',
      'gimbal.heptio.com/service': 'web',
    });
    assert.equal(upstreamEndpoints, 1);
    const [only] = mirror.slices;
    assert.equal(mirror.slices.length, 1);
    assert.equal(only?.metadata.labels?.['kubernetes.io/service-name'], 'east-web');
    assert.deepEqual(only?.endpoints, [{ addresses: ['10.0.0.1'], conditions: { ready: true } }]);
    assert.equal(mirror.endpoints, undefined);
  });

  it('changes nothing of what comes in (D3)', () => {
    const remote = { service: service({ labels: { app: 'web' } }), slices: [slice('a', ['10.0.0.2', '10.0.0.1'])] };
    const before = structuredClone(remote);
    map(remote, true);
    assert.deepEqual(remote, before);
  });

  it('comes without what is true of its source only (D15)', () => {
    const finding = present(
      map({
        service: service({
          labels: {
            app: 'web',
            'service.kubernetes.io/headless': '',
            'endpoints.kubernetes.io/managed-by': 'x',
            'capstan.dev/inventory': 'of-another-cluster',
          },
          annotations: {
            'capstan.dev/owner': 'of another cluster',
            'original.capstan.dev/x': 'of another cluster',
            owner: 'team',
            'kubectl.kubernetes.io/last-applied-configuration': '{}',
            'control-plane.alpha.kubernetes.io/leader': '{}',
            'endpoints.kubernetes.io/last-change-trigger-time': 'now',
            'endpointslice.kubernetes.io/x': 'y',
          },
        }),
        slices: [],
      }),
    );
    const { labels, annotations } = finding.mirror.service.metadata;
    assert.deepEqual(Object.keys(labels ?? {}).toSorted(), ['app', BACKEND, 'gimbal.heptio.com/service']);
    assert.deepEqual(annotations, {
      owner: 'team',
      [MIRROR_ANNOTATION]: '{"labels":["app"],"annotations":["owner"]}',
    });
  });

  it('is the same whatever order the remote side lists things in (D10)', () => {
    const digests = (finding: Finding) =>
      [present(finding).mirror.service, ...present(finding).mirror.slices].map(managedDigest);
    const ports = [
      { name: 'a', port: 1, protocol: 'TCP' },
      { name: 'b', port: 2, protocol: 'UDP' },
    ];
    assert.deepEqual(
      digests(map({ service: service(), slices: [slice('x', ['10.0.0.1', '10.0.0.2'], { ports }), slice('y', [])] })),
      digests(
        map({
          service: service(),
          slices: [slice('y', []), slice('x', ['10.0.0.2', '10.0.0.1'], { ports: ports.toReversed() })],
        }),
      ),
    );
  });

  it('is not looked at when it is the API server’s own, or mirrored already', () => {
    const absent = { state: 'absent' };
    assert.deepEqual(map({ service: service({ namespace: 'default', name: 'kubernetes' }), slices: [] }), absent);
    assert.equal(map({ service: service({ name: 'kubernetes' }), slices: [] }).state, 'present');
    for (const family of ['gimbal.heptio.com', 'gimbal.projectcontour.io']) {
      const labels = { [`${family}/backend`]: 'west' };
      assert.deepEqual(map({ service: service({ labels }), slices: [] }), absent);
    }
  });

  it('is invalid when it could not stand here, and says why (D8)', () => {
    const port = (name: string, number: number) => ({ name, port: number });
    for (const [spec, why] of [
      [{ ports: [] }, /has no ports/],
      [{ ports: [{ port: 0 }] }, /not between 1 and 65535/],
      [{ ports: [port('a', 1), port('a', 2)] }, /there twice/],
      [{ ports: [port('a', 1), port('b', 1)] }, /1\/TCP is there twice/],
      [{ ports: [{ port: 1 }, port('b', 2)] }, /has no name/],
      [{ ports: [{ port: 1, protocol: 'QUIC' }] }, /protocol "QUIC"/],
    ] as const) {
      const finding = map({ service: service({}, { ...spec, ports: [...spec.ports] }), slices: [] });
      assert.equal(finding.state, 'invalid');
      assert.equal(finding.keep, true);
      assert.deepEqual(
        finding.problems.map(({ type, namespace, name }) => ({ type, namespace, name })),
        [{ type: 'InvalidService', namespace: 'team', name: 'web' }],
      );
      assert.match(finding.problems[0]?.message ?? '', why);
    }
    assert.equal(map({ service: service({}, { clusterIP: 'None', ports: [] }), slices: [] }).state, 'present');
  });

  it('a service of a remote cluster of type ExternalName is reported and not mirrored', () => {
    const remote = service({}, { type: 'ExternalName', externalName: 'db.example.com', ports: [] });
    const finding = map({ service: remote, slices: [] });
    assert.equal(finding.state, 'invalid');
    assert.equal(finding.keep, false);
    assert.equal(finding.problems[0]?.type, 'ExternalNameUnsupported');
  });

  it('is mirrored without addresses that cannot be used here; they are counted and reported once', () => {
    const addresses = [
      '10.0.0.1',
      '127.0.0.1',
      '169.254.1.1',
      '224.0.0.1',
      '0.0.0.0',
      'host.example.com',
      '127.64.0.9',
    ];
    const finding = present(map({ service: service(), slices: [slice('a', addresses)] }));
    assert.deepEqual(
      finding.mirror.slices[0]?.endpoints?.map((endpoint) => endpoint.addresses[0]),
      ['10.0.0.1', '127.64.0.9'],
    );
    assert.equal(finding.invalidEndpoints, 5);
    assert.deepEqual(
      finding.problems.map(({ type }) => type),
      ['EndpointInvalid'],
    );
    assert.match(finding.problems[0]?.message ?? '', /"127.0.0.1" is a loopback address, and 4 more/);
  });

  it('keeps both families of a dual-stack service apart', () => {
    const v6 = slice('b', ['fd00::1'], { addressType: 'IPv6' });
    const { mirror } = present(map({ service: service(), slices: [slice('a', ['10.0.0.1']), v6] }));
    assert.deepEqual(mirror.slices.map(({ addressType }) => addressType).toSorted(), ['IPv4', 'IPv6']);
  });
});

describe('Endpoints', () => {
  const endpoints: Endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'team', name: 'web' },
    subsets: [
      {
        addresses: [{ ip: '10.0.0.2', nodeName: 'n' }, { ip: '10.0.0.1' }],
        notReadyAddresses: [{ ip: '10.0.0.3' }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      },
      { addresses: [{ ip: 'fd00::1' }], ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] },
    ],
  };

  it('Endpoints of a cluster without slices become slices by ports and family', () => {
    const { mirror, upstreamEndpoints } = present(map({ service: service(), endpoints }));
    assert.equal(upstreamEndpoints, 3, 'those that are ready');
    assert.deepEqual(
      mirror.slices
        .flatMap((each) =>
          (each.endpoints ?? []).map((one) => `${each.addressType} ${one.addresses[0]} ${one.conditions?.ready}`),
        )
        .toSorted(),
      ['IPv4 10.0.0.1 true', 'IPv4 10.0.0.2 true', 'IPv4 10.0.0.3 false', 'IPv6 fd00::1 true'],
    );
  });

  it('are written on request, labelled so that no slices are made of them, as they are there', () => {
    const { mirror } = present(map({ service: service(), slices: [slice('a', ['10.0.0.2', '10.0.0.1'])] }, true));
    assert.equal(mirror.endpoints?.metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'], 'true');
    assert.deepEqual(mirror.endpoints?.subsets, [
      { addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [{ port: 8080, protocol: 'TCP' }] },
    ]);
  });

  it('hold 1000 addresses; the rest is reported', () => {
    const many = Array.from({ length: 1001 }, (_, index) => ({ ip: `10.1.${index >> 8}.${index & 255}` }));
    const subsets = [{ addresses: many, ports: [{ port: 80 }] }];
    const finding = present(map({ service: service(), endpoints: { ...endpoints, subsets } }, true));
    assert.equal(finding.mirror.slices.flatMap((each) => each.endpoints ?? []).length, 1001);
    assert.equal(finding.mirror.endpoints?.subsets?.[0]?.addresses?.length, 1000);
    assert.deepEqual(
      finding.problems.map(({ type }) => type),
      ['LimitExceeded'],
    );
  });
});

it('a service with 100,000 endpoints is cut so that one change changes one slice', () => {
  const addresses = Array.from({ length: 100_000 }, (_, index) => ({
    ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
  }));
  const of = (all: typeof addresses): Endpoints => ({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'team', name: 'web' },
    subsets: [{ addresses: all, ports: [{ port: 80 }] }],
  });
  const digests = (all: typeof addresses) =>
    new Map(
      present(map({ service: service(), endpoints: of(all) })).mirror.slices.map((each) => {
        assert.ok((each.endpoints ?? []).length <= 1000);
        return [each.metadata.name, managedDigest(each)];
      }),
    );
  const before = digests(addresses);
  const after = digests(addresses.slice(1));
  const changed = [...before].filter(([name, digest]) => after.get(name) !== digest);
  assert.equal(changed.length, 1);
});
