import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kindId } from '../kind.ts';
import {
  builtinKinds,
  builtinResources,
  ClusterRole,
  ConfigMap,
  type Container,
  CoreEvent,
  Deployment,
  definitionOf,
  Event,
  HorizontalPodAutoscaler,
  loadBuiltinSchemas,
  Namespace,
  NetworkPolicy,
  publishedSchema,
  Secret,
} from './index.ts';

describe('built-in kinds', () => {
  it('each kind has its place in the API', () => {
    assert.deepEqual(Deployment, {
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
      plural: 'deployments',
      scope: 'Namespaced',
      hasStatus: true,
      apiVersion: 'apps/v1',
    });
    assert.equal(ConfigMap.apiVersion, 'v1');
    assert.equal(HorizontalPodAutoscaler.apiVersion, 'autoscaling/v2');
    assert.equal(ClusterRole.scope, 'Cluster');
  });

  it('each kind declares its status subresource and whether its content is sensitive', () => {
    assert.deepEqual(
      builtinKinds.filter((kind) => kind.sensitive).map(kindId),
      [kindId(Secret)],
      'only Secret is sensitive',
    );
    assert.equal(Namespace.hasStatus, true);
    for (const kind of [ConfigMap, Secret, ClusterRole, Event, NetworkPolicy]) {
      assert.notEqual(kind.hasStatus, true, kind.kind);
    }
  });

  it('kinds are distinguished by kind and group, including both Events', () => {
    assert.equal(new Set(builtinKinds.map(kindId)).size, builtinKinds.length);
    assert.equal(kindId(Event), 'Event.events.k8s.io');
    assert.equal(kindId(CoreEvent), 'Event');
  });

  it('kinds serve as types of whole objects and of their parts', () => {
    const container: Container = { name: 'proxy', image: 'envoy', imagePullPolicy: 'IfNotPresent' };
    const deployment: Deployment = {
      apiVersion: Deployment.apiVersion,
      kind: Deployment.kind,
      metadata: { name: 'proxy' },
      spec: { selector: { matchLabels: {} }, template: { spec: { containers: [container] } } },
    };
    assert.equal(deployment.spec?.template.spec?.containers[0]?.image, 'envoy');
  });
});

describe('the table of built-in resources', () => {
  it('the table has one row per kind, with the fields of API discovery', () => {
    assert.deepEqual(
      builtinResources.map((one) => kindId(one)),
      builtinKinds.map(kindId),
    );
    const deployments = builtinResources.find((one) => one.plural === 'deployments');
    assert.deepEqual(deployments?.shortNames, ['deploy']);
    assert.deepEqual(deployments.categories, ['all']);
    assert.deepEqual(
      deployments.subresources.map(({ name, group, kind }) => `${name}: ${kind}.${group}`),
      ['scale: Scale.autoscaling', 'status: Deployment.apps'],
    );
  });
});

describe('the schemas of built-in kinds', () => {
  const schemas = loadBuiltinSchemas();
  const fieldOf = (definition: string, field: string) => schemas.get(definition)?.properties?.[field];

  it('every kind and every subresource kind with fields has a schema', () => {
    const withoutSchema = builtinResources
      .flatMap((one) => [one, ...one.subresources])
      .filter((one) => definitionOf(schemas, one) === undefined)
      .map((one) => one.kind);
    // These kinds are only written as query parameters.
    assert.deepEqual(
      withoutSchema.filter((kind) => !/^(Pod|Node|Service)(Attach|Exec|PortForward|Proxy)Options$/.test(kind)),
      [],
    );
  });

  it('schemas refer only to definitions that exist', () => {
    const missing: string[] = [];
    JSON.stringify([...schemas.values()], (key, value: unknown) => {
      // A property may also be named $ref (JSONSchemaProps): then its value is a schema.
      if (key === '$ref' && typeof value === 'string' && !schemas.has(value)) missing.push(value);
      return value;
    });
    assert.deepEqual(missing, []);
  });

  it('schemas carry no description, except where a field has that name', () => {
    JSON.stringify([...schemas.values()], (key, value: unknown) => {
      if (key === 'description') assert.equal(typeof value, 'object');
      return value;
    });
  });

  it('schemas carry the extensions for apply and strategic merge', () => {
    const ports = fieldOf('io.k8s.api.core.v1.Container', 'ports');
    assert.deepEqual(ports?.['x-kubernetes-list-map-keys'], ['containerPort', 'protocol']);
    assert.equal(ports['x-kubernetes-list-type'], 'map');
    assert.equal(ports['x-kubernetes-patch-merge-key'], 'containerPort');
    assert.equal(ports['x-kubernetes-patch-strategy'], 'merge');
    assert.equal(schemas.get('io.k8s.api.core.v1.ObjectReference')?.['x-kubernetes-map-type'], 'atomic');
    assert.deepEqual(schemas.get('io.k8s.api.apps.v1.DeploymentSpec')?.required, ['selector', 'template']);
  });

  it('schemas carry enums and defaults', () => {
    const protocol = fieldOf('io.k8s.api.core.v1.ContainerPort', 'protocol');
    assert.deepEqual(protocol?.enum, ['SCTP', 'TCP', 'UDP']);
    assert.equal(protocol.default, 'TCP');
    assert.deepEqual(fieldOf('io.k8s.api.core.v1.ContainerPort', 'name')?.enum, undefined);
    assert.deepEqual(fieldOf('io.k8s.api.networking.v1.NetworkPolicySpec', 'policyTypes')?.items?.enum, [
      'Egress',
      'Ingress',
    ]);
  });

  it('schemas are published in the form of OpenAPI 3.0', () => {
    const published = publishedSchema({
      type: 'object',
      properties: { spec: { $ref: 'a.Spec', default: {} }, plain: { $ref: 'a.Plain' }, $ref: { type: 'string' } },
    });
    assert.deepEqual(published, {
      type: 'object',
      properties: {
        spec: { allOf: [{ $ref: '#/components/schemas/a.Spec' }], default: {} },
        plain: { $ref: '#/components/schemas/a.Plain' },
        $ref: { type: 'string' },
      },
    });
  });
});
