// For any ControllerConfig and the packages that use it, the objects that are rendered after the conversion equal those before it, except
// for the differences in the report.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff, isJsonObject, type JsonObject } from '@capstan/kube';
import fc from 'fast-check';
import { normalizeRuntimeConfig } from '../runtime/normalize.ts';
import type { ControllerConfig } from '../runtime/render/controller-config.ts';
import { schemas } from '../runtime/render/render.test-support.ts';
import { type RenderedRuntime, type RuntimeRevision, renderRuntime } from '../runtime/render/render.ts';
import { tlsSecretNames } from '../runtime/render/tls-secrets.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime/runtime-config.ts';
import { someControllerConfig, somePackages } from './generated.test-support.ts';
import { type Manifest, nameOf, namesIn, objectIn } from './manifest.ts';
import { planConversion } from './plan.ts';

const options = { apiVersion: 'pkg.crossplane.io/v1beta1', nameSuffix: '', schemas };

test('a conversion renders the same objects before and after, except for the differences in its report', () => {
  let listed = 0;
  let clean = 0;
  fc.assert(
    fc.property(someControllerConfig, somePackages, (controllerConfig, packages) => {
      const manifests = [controllerConfig, ...packages].map(
        (value, index): Manifest => ({ value, place: `x:${index}` }),
      );
      const { replacements, findings } = planConversion(manifests, options);
      const [config, ...users] = manifests.map((manifest) => replacements.get(manifest));
      assert.ok(config);
      const { config: runtimeConfig, errors, warnings } = normalizeRuntimeConfig(config.value, schemas);
      // An entry that was there twice before is there twice afterwards.
      const others = warnings.filter(({ message }) => !message.endsWith('the last of them counts'));
      assert.deepEqual([...errors, ...others], []);
      for (const [index, before] of packages.entries()) {
        const after = users[index]?.value;
        assert.ok(after && runtimeConfig);
        assert.equal(objectIn(after, 'spec')['controllerConfigRef'], undefined);
        assert.equal(objectIn(after, 'spec', 'runtimeConfigRef')['name'], nameOf(config.value));
        const old = renderRuntime({
          revision: revisionOf(before),
          config: EMPTY_RUNTIME_CONFIG,
          controllerConfig: controllerConfig as unknown as ControllerConfig,
          namespace: 'ns',
        });
        const now = renderRuntime({ revision: revisionOf(after), config: runtimeConfig, namespace: 'ns' });
        const id = `${String(before['kind'])}/${nameOf(before)}`;
        const changes = findings.flatMap((finding) => finding.changes).filter((change) => change.package === id);
        listed += changes.length;
        if (changes.length === 0) clean++;
        for (const [object, part] of Object.entries(PARTS)) {
          const allowed = changes.filter((change) => change.object === object).map(({ path }) => path);
          const differing = diff(inOrder(old[part]), inOrder(now[part]));
          const unlisted = differing.filter((path) => !allowed.some((one) => path.startsWith(one)));
          assert.deepEqual(unlisted, [], `${object} of ${id} differs: ${JSON.stringify([old[part], now[part]])}`);
        }
        if (!changes.some(({ path }) => path.endsWith('.env'))) assert.deepEqual(environment(now), environment(old));
      }
    }),
    { numRuns: 500 },
  );
  // The generator reaches the differences at all, and a report does not allow everything.
  assert.ok(listed > 500 && clean > 10, `${listed} changes listed, ${clean} packages without any`);
});

test('a second conversion finds nothing to do', () => {
  fc.assert(
    fc.property(someControllerConfig, somePackages, (controllerConfig, packages) => {
      const manifests = [controllerConfig, ...packages].map(
        (value, index): Manifest => ({ value, place: `x:${index}` }),
      );
      const { replacements } = planConversion(manifests, options);
      const converted = manifests.map((manifest) => ({ ...manifest, value: replacements.get(manifest)?.value ?? {} }));
      const again = planConversion(converted, options);
      assert.equal(again.replacements.size, 0);
      assert.deepEqual(again.findings, []);
    }),
    { numRuns: 100 },
  );
});

const PARTS = { Deployment: 'deployment', Service: 'service', ServiceAccount: 'serviceAccount' } as const;

function revisionOf(value: JsonObject): RuntimeRevision {
  const kind = value['kind'] === 'Provider' ? 'Provider' : 'Function';
  const spec = objectIn(value, 'spec');
  const { server, client } = tlsSecretNames(kind, nameOf(value));
  return {
    kind,
    packageName: nameOf(value),
    name: `${nameOf(value)}-0123456789ab`,
    uid: 'u',
    image: String(spec['package']),
    // The default of a package's schema.
    pullPolicy: typeof spec['packagePullPolicy'] === 'string' ? spec['packagePullPolicy'] : 'IfNotPresent',
    pullSecrets: namesIn(spec['packagePullSecrets']),
    tlsServerSecretName: server,
    ...(client !== undefined && { tlsClientSecretName: client }),
  };
}

/** Lists that are maps to Kubernetes, in the order of their keys: their order means nothing but for env, see below. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(inOrder);
    const keyOf = (item: unknown) =>
      isJsonObject(item) ? JSON.stringify(item['mountPath'] ?? item['containerPort'] ?? item['name'] ?? '') : '""';
    return items.every((item) => keyOf(item) !== '""' && keyOf(item) !== '"package-runtime"')
      ? items.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
      : items;
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inOrder(part)]));
}

/** Returns the environment as a process would see it: references are filled in from earlier variables. */
function environment({ deployment }: RenderedRuntime): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const { name, value, valueFrom } of deployment.spec?.template.spec?.containers[0]?.env ?? []) {
    seen[name] =
      valueFrom === undefined
        ? (value ?? '').replaceAll(/\$\(([^)]+)\)/g, (whole, other: string) => seen[other] ?? whole)
        : JSON.stringify(valueFrom);
  }
  return seen;
}
