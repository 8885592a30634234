// The validation of a SesameDeployment besides its configuration.

import { FEATURES, type Problem } from '../configuration/index.ts';
import { publishing } from '../configuration/rules/envoy-rules.ts';
import { Findings } from '../configuration/rules/findings.ts';
import { contourLease } from '../kinds/contour.ts';
import type { SesameDeploymentSpec } from '../kinds/index.ts';
import { XDS_MODES } from './xds-mode.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'critical', 'off'];
const EFFECTS = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** All errors; paths begin at `spec`. */
export function deploymentProblems(spec: SesameDeploymentSpec): Problem[] {
  const findings = new Findings();
  findings.atLeast('replicas', spec.replicas, 0);
  placement('nodePlacement', spec.nodePlacement, findings);
  const { sesame, envoy } = spec;
  findings.atLeast('sesame.deployment.replicas', sesame?.deployment?.replicas, 0);
  placement('sesame.nodePlacement', sesame?.nodePlacement, findings);
  findings.oneOf('sesame.logLevel', sesame?.logLevel?.toLowerCase(), ['info', 'debug']);
  findings.range('sesame.kubernetesLogLevel', sesame?.kubernetesLogLevel, 0, 9);
  const watched = sesame?.watchNamespaces ?? [];
  if (watched.length > 42)
    findings.error(
      'sesame.watchNamespaces',
      'OutOfRange',
      `has ${watched.length} namespaces; name at most 42, or none to watch all`,
    );
  for (const [index, name] of watched.entries()) findings.namespaceName(`sesame.watchNamespaces[${index}]`, name);
  contourCompat(sesame, findings);
  for (const [index, feature] of (sesame?.disabledFeatures ?? []).entries())
    findings.oneOf(`sesame.disabledFeatures[${index}]`, feature, FEATURES);
  findings.oneOf('envoy.workloadType', envoy?.workloadType, ['DaemonSet', 'Deployment']);
  findings.atLeast('envoy.deployment.replicas', envoy?.deployment?.replicas, 0);
  publishing('envoy.networkPublishing', envoy?.networkPublishing, findings);
  placement('envoy.nodePlacement', envoy?.nodePlacement, findings);
  findings.oneOf('envoy.logLevel', envoy?.logLevel, LOG_LEVELS);
  findings.oneOf('envoy.xdsMode', envoy?.xdsMode, XDS_MODES);
  findings.atLeast('envoy.baseID', envoy?.baseID, 0);
  findings.atLeast('envoy.overloadMaxHeapSize', envoy?.overloadMaxHeapSize, 0);
  findings.atLeast('envoy.overloadMaxDownstreamConnections', envoy?.overloadMaxDownstreamConnections, 0);
  extraMounts(spec, findings);
  placement('configuration.envoy.managed.nodePlacement', spec.configuration?.envoy?.managed?.nodePlacement, findings);
  return findings.problems;
}

/** Contour's Lease decides who writes statuses: it must be one that can be read. */
function contourCompat(sesame: SesameDeploymentSpec['sesame'], findings: Findings): void {
  const { contourCompat: isOn = false, contourLease: text, watchNamespaces: watched = [] } = sesame ?? {};
  const [namespace = '', name = '', ...more] = (text ?? '').split('/');
  if (text !== undefined && (namespace === '' || name === '' || more.length > 0))
    findings.error('sesame.contourLease', 'InvalidValue', `is not NAMESPACE/NAME (${JSON.stringify(text)}); name both`);
  const lease = contourLease(text);
  if (isOn && watched.length > 0 && !watched.includes(lease.namespace))
    findings.error(
      'sesame.watchNamespaces',
      'Conflict',
      `does not have ${lease.namespace}, where the Lease of Contour is; add it, or name another in sesame.contourLease`,
    );
}

interface Placement {
  tolerations?: { operator?: string; effect?: string; value?: string; key?: string }[];
}

function placement(path: string, value: Placement | undefined, findings: Findings): void {
  for (const [index, { operator = '', effect = '', value: taint = '', key = '' }] of (
    value?.tolerations ?? []
  ).entries()) {
    const at = `${path}.tolerations[${index}]`;
    findings.oneOf(`${at}.operator`, operator, ['', 'Exists', 'Equal']);
    findings.oneOf(`${at}.effect`, effect, EFFECTS);
    if (operator === 'Exists' && taint !== '')
      findings.error(`${at}.value`, 'Conflict', 'must be empty with the operator Exists; remove it');
    if (key === '' && operator !== 'Exists')
      findings.error(`${at}.operator`, 'Required', 'must be Exists where key is empty; name a key');
  }
}

function extraMounts({ envoy }: SesameDeploymentSpec, findings: Findings): void {
  const volumes = new Set((envoy?.extraVolumes ?? []).map(({ name }) => name));
  for (const [index, { name }] of (envoy?.extraVolumeMounts ?? []).entries())
    if (!volumes.has(name))
      findings.error(
        `envoy.extraVolumeMounts[${index}].name`,
        'InvalidValue',
        `is not the name of an extra volume (${JSON.stringify(name) ?? ''}); name one of extraVolumes`,
      );
}
