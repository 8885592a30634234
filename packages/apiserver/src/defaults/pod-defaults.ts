// The defaults of Kubernetes for pods, their templates and all their parts.
import { formatQuantity, parseQuantity } from '@capstan/kube';
import { isObject, type JsonObject } from '../json/copy.ts';
import { type Defaults, each, fillAbsent, fillZero, within } from './fill.ts';

const CORE = 'io.k8s.api.core.v1';

/** rw-r--r-- */
const FILE_MODE = 0o644;

export const podDefaults: Readonly<Record<string, Defaults>> = {
  [`${CORE}.Pod`]: (pod) =>
    within(pod, 'spec', (spec) => {
      const linked = fillAbsent(spec, { enableServiceLinks: true });
      const requested = each(each(linked, 'containers', requestLimits), 'initContainers', requestLimits);
      if (requested['hostNetwork'] !== true) return requested;
      return each(each(requested, 'containers', hostPorts), 'initContainers', hostPorts);
    }),
  [`${CORE}.PodSpec`]: (spec) => {
    // The second is the first's old name; both are shown.
    const account = spec['serviceAccountName'] || spec['serviceAccount'];
    const named = account ? { ...spec, serviceAccountName: account, serviceAccount: account } : spec;
    return fillAbsent(
      fillZero(named, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' }),
      { securityContext: {}, terminationGracePeriodSeconds: 30 },
    );
  },
  [`${CORE}.Container`]: containerDefaults,
  [`${CORE}.EphemeralContainer`]: containerDefaults,
  [`${CORE}.ContainerPort`]: (port) => fillZero(port, { protocol: 'TCP' }),
  [`${CORE}.Probe`]: (probe) =>
    fillZero(
      within(probe, 'grpc', (grpc) => fillAbsent(grpc, { service: '' })),
      {
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
    ),
  [`${CORE}.HTTPGetAction`]: (action) => fillZero(action, { path: '/', scheme: 'HTTP' }),
  [`${CORE}.ObjectFieldSelector`]: (selector) => fillZero(selector, { apiVersion: 'v1' }),
  [`${CORE}.ResourceFieldSelector`]: (selector) => fillAbsent(selector, { divisor: '0' }),
  [`${CORE}.Volume`]: (volume) => {
    const isBare = Object.keys(volume).every((key) => key === 'name');
    return isBare ? { ...volume, emptyDir: {} } : volume;
  },
  [`${CORE}.SecretVolumeSource`]: (source) => fillAbsent(source, { defaultMode: FILE_MODE }),
  [`${CORE}.ConfigMapVolumeSource`]: (source) => fillAbsent(source, { defaultMode: FILE_MODE }),
  [`${CORE}.DownwardAPIVolumeSource`]: (source) => fillAbsent(source, { defaultMode: FILE_MODE }),
  [`${CORE}.ProjectedVolumeSource`]: (source) => fillAbsent(source, { defaultMode: FILE_MODE }),
  [`${CORE}.ServiceAccountTokenProjection`]: (source) => fillAbsent(source, { expirationSeconds: 3600 }),
  [`${CORE}.HostPathVolumeSource`]: (source) => fillAbsent(source, { type: '' }),
  [`${CORE}.ISCSIVolumeSource`]: (source) => fillZero(source, { iscsiInterface: 'default' }),
  [`${CORE}.AzureDiskVolumeSource`]: (source) =>
    fillAbsent(source, { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false }),
  [`${CORE}.RBDVolumeSource`]: (source) =>
    fillZero(source, { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' }),
  [`${CORE}.ScaleIOVolumeSource`]: (source) => fillZero(source, { storageMode: 'ThinProvisioned', fsType: 'xfs' }),
  [`${CORE}.PersistentVolumeClaimSpec`]: (spec) => fillAbsent(spec, { volumeMode: 'Filesystem' }),
  [`${CORE}.ResourceRequirements`]: (resources) =>
    within(within(resources, 'limits', wholeMillis), 'requests', wholeMillis),
};

function containerDefaults(container: JsonObject): JsonObject {
  const image = container['image'];
  return fillZero(container, {
    imagePullPolicy: typeof image === 'string' && isLatest(image) ? 'Always' : 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  });
}

/** Without a tag and without a digest an image is the latest one; a digest alone is fixed. */
function isLatest(image: string): boolean {
  if (image.includes('@')) return false;
  const last = image.slice(image.lastIndexOf('/') + 1);
  const colon = last.indexOf(':');
  return image !== '' && (colon < 0 || last.slice(colon + 1) === 'latest');
}

/** Resources with a limit and without a request get a request equal to the limit; in pods only, not in templates. */
function requestLimits(container: JsonObject): JsonObject {
  return within(container, 'resources', (resources) => {
    const { limits } = resources;
    if (!isObject(limits)) return resources;
    const requests = fillAbsent(isObject(resources['requests']) ? resources['requests'] : {}, limits);
    return { ...resources, requests };
  });
}

function hostPorts(container: JsonObject): JsonObject {
  return each(container, 'ports', (port) => fillZero(port, { hostPort: port['containerPort'] }));
}

const MILLI = 1_000_000n;

/** Thousandths are the finest unit: finer values are rounded up. */
function wholeMillis(quantities: JsonObject): JsonObject {
  let result = quantities;
  for (const [name, value] of Object.entries(quantities)) {
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    const rounded = roundUp(value);
    if (rounded !== undefined) result = { ...result, [name]: rounded };
  }
  return result;
}

function roundUp(value: string | number): string | undefined {
  try {
    const { nanos, format } = parseQuantity(value);
    const rest = nanos % MILLI;
    return rest === 0n ? undefined : formatQuantity({ nanos: nanos - rest + (nanos > 0n ? MILLI : 0n), format });
  } catch {
    // Validation reports the error.
    return undefined;
  }
}
