import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';

const NAMESPACE = '/api/v1/namespaces/default';

interface Case {
  name: string;
  path: string;
  object: Record<string, unknown>;
  /** Parts of the server's answer. */
  expected: Record<string, unknown>;
}

const container = { name: 'c', image: 'i:1' };
const podSpec = (more: object, parts: object = {}) => ({ containers: [{ ...container, ...more }], ...parts });
const pod = (more: object, parts: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: podSpec(more, parts),
});
const filled = {
  ...container,
  imagePullPolicy: 'IfNotPresent',
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};
const service = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec });
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const cases: Case[] = [
  {
    name: 'a pod',
    path: `${NAMESPACE}/pods`,
    object: pod({}),
    expected: {
      'spec.containers': [filled],
      'spec.dnsPolicy': 'ClusterFirst',
      'spec.restartPolicy': 'Always',
      'spec.schedulerName': 'default-scheduler',
      'spec.securityContext': {},
      'spec.terminationGracePeriodSeconds': 30,
      'spec.enableServiceLinks': true,
    },
  },
  {
    name: 'the pull policy of an image without a tag',
    path: `${NAMESPACE}/pods`,
    object: pod({ image: 'host:5000/a' }),
    expected: { 'spec.containers': [{ ...filled, image: 'host:5000/a', imagePullPolicy: 'Always' }] },
  },
  {
    name: 'the pull policy of an image by digest',
    path: `${NAMESPACE}/pods`,
    object: pod({ image: 'a@sha256:0' }),
    expected: { 'spec.containers': [{ ...filled, image: 'a@sha256:0' }] },
  },
  {
    name: 'ports, probes, and variables from fields',
    path: `${NAMESPACE}/pods`,
    object: pod({
      ports: [{ containerPort: 80 }],
      readinessProbe: { httpGet: { port: 80 } },
      env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    }),
    expected: {
      'spec.containers': [
        {
          ...filled,
          ports: [{ containerPort: 80, protocol: 'TCP' }],
          readinessProbe: {
            httpGet: { port: 80, path: '/', scheme: 'HTTP' },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
          env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } } }],
        },
      ],
    },
  },
  {
    name: 'requests that follow from limits, by the thousandth',
    path: `${NAMESPACE}/pods`,
    object: pod({ resources: { limits: { cpu: '0.0001', memory: '1Gi' }, requests: { memory: '1Mi' } } }),
    expected: {
      'spec.containers': [
        { ...filled, resources: { limits: { cpu: '1m', memory: '1Gi' }, requests: { cpu: '1m', memory: '1Mi' } } },
      ],
    },
  },
  {
    name: 'the modes of files in volumes',
    path: `${NAMESPACE}/pods`,
    object: pod(
      {},
      {
        volumes: [
          { name: 'a' },
          { name: 'b', secret: { secretName: 's' } },
          { name: 'c', configMap: { name: 'c', defaultMode: 256 } },
          { name: 'd', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
        ],
      },
    ),
    expected: {
      'spec.volumes': [
        { name: 'a', emptyDir: {} },
        { name: 'b', secret: { secretName: 's', defaultMode: 420 } },
        { name: 'c', configMap: { name: 'c', defaultMode: 256 } },
        {
          name: 'd',
          projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }], defaultMode: 420 },
        },
      ],
    },
  },
  {
    name: 'a deployment',
    path: DEPLOYMENTS,
    object: deployment('web', { replicas: undefined }),
    expected: {
      'spec.replicas': 1,
      'spec.revisionHistoryLimit': 10,
      'spec.progressDeadlineSeconds': 600,
      'spec.strategy': { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      'spec.template.spec.restartPolicy': 'Always',
      // Only pods have it.
      'spec.template.spec.enableServiceLinks': undefined,
      status: {},
    },
  },
  {
    name: 'a deployment that recreates, with none of its pods wanted',
    path: DEPLOYMENTS,
    object: deployment('web', { replicas: 0, strategy: { type: 'Recreate' } }),
    expected: { 'spec.replicas': 0, 'spec.strategy': { type: 'Recreate' } },
  },
  {
    name: 'a daemon set',
    path: '/apis/apps/v1/namespaces/default/daemonsets',
    object: { ...deployment('web', { replicas: undefined }), kind: 'DaemonSet' },
    expected: {
      'spec.updateStrategy': { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      'spec.revisionHistoryLimit': 10,
      'status.numberReady': 0,
    },
  },
  {
    name: 'a service',
    path: `${NAMESPACE}/services`,
    object: service({ ports: [{ port: 80 }] }),
    expected: {
      'spec.type': 'ClusterIP',
      'spec.sessionAffinity': 'None',
      'spec.internalTrafficPolicy': 'Cluster',
      'spec.ports': [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      'spec.externalTrafficPolicy': undefined,
      status: { loadBalancer: {} },
    },
  },
  {
    name: 'a service that keeps its clients',
    path: `${NAMESPACE}/services`,
    object: service({ type: 'LoadBalancer', sessionAffinity: 'ClientIP', ports: [{ port: 80, targetPort: 'web' }] }),
    expected: {
      'spec.sessionAffinityConfig': { clientIP: { timeoutSeconds: 10800 } },
      'spec.allocateLoadBalancerNodePorts': true,
      'spec.externalTrafficPolicy': 'Cluster',
    },
  },
  {
    name: 'a role binding',
    path: `${RBAC}/namespaces/default/rolebindings`,
    object: {
      metadata: { name: 'b' },
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      ],
    },
    expected: {
      'roleRef.apiGroup': 'rbac.authorization.k8s.io',
      subjects: [
        { kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' },
        { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      ],
    },
  },
  {
    name: 'a network policy',
    path: '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
    object: { metadata: { name: 'n' }, spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } },
    expected: {
      'spec.policyTypes': ['Ingress', 'Egress'],
      'spec.egress': [{ ports: [{ port: 53, protocol: 'TCP' }] }],
    },
  },
  {
    name: 'an endpoint slice',
    path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    object: { metadata: { name: 'e' }, addressType: 'IPv4', endpoints: [], ports: [{ port: 80 }] },
    expected: { ports: [{ port: 80, name: '', protocol: 'TCP' }] },
  },
  {
    name: 'a webhook',
    path: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
    object: {
      metadata: { name: 'w' },
      webhooks: [
        {
          name: 'a.example.com',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          clientConfig: { service: { namespace: 'n', name: 's' } },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
        },
      ],
    },
    expected: {
      webhooks: [
        {
          name: 'a.example.com',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          clientConfig: { service: { namespace: 'n', name: 's', port: 443 } },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: '*' }],
          failurePolicy: 'Fail',
          matchPolicy: 'Equivalent',
          namespaceSelector: {},
          objectSelector: {},
          timeoutSeconds: 10,
          reinvocationPolicy: 'Never',
        },
      ],
    },
  },
  {
    name: 'an autoscaler',
    path: '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    object: {
      metadata: { name: 'h' },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, maxReplicas: 3 },
    },
    expected: {
      'spec.minReplicas': 1,
      'spec.metrics': [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
      ],
    },
  },
];

const at = (object: UnknownObject, path: string): unknown =>
  path.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], object);

describe('defaults of built-in kinds', () => {
  for (const { name, path, object, expected } of cases) {
    it(`fills in ${name}`, async () => {
      const test = testServer();
      const made = await test.ok('POST', path, object);
      for (const [part, value] of Object.entries(expected)) assert.deepEqual(at(made, part), value, part);
      const again = await test.ok('PUT', `${path}/${made.metadata.name}`, made);
      assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion, 'what is filled in already stays');
    });
  }
});
