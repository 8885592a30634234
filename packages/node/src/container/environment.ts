// A container's environment, in the order in which Kubernetes builds it: Services, envFrom, env. Each may refer to earlier variables.
import type { ConfigMap, Container, EnvVar, Secret, Service } from '@capstan/kube';
import { type Facts, fieldValue, resourceValue } from './downward.ts';
import { expand } from './expand.ts';

export interface EnvironmentSources extends Facts {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  /** The Services of the pod's namespace, for the link variables that old programs read. */
  services: readonly Service[];
  allocatable: Record<string, string>;
}

/** The variables, or why there are none yet. */
export type Environment = { variables: Record<string, string> } | { missing: string };

export function buildEnvironment(container: Container, sources: EnvironmentSources): Environment {
  const variables: Record<string, string> = {};
  if (sources.pod.spec?.enableServiceLinks !== false) Object.assign(variables, serviceLinks(sources.services));
  for (const { configMapRef, secretRef, prefix = '' } of container.envFrom ?? []) {
    const name = configMapRef?.name ?? secretRef?.name ?? '';
    const values = configMapRef === undefined ? decoded(sources.secret(name)) : sources.configMap(name)?.data;
    const exists = (configMapRef === undefined ? sources.secret(name) : sources.configMap(name)) !== undefined;
    const isOptional = (configMapRef ?? secretRef)?.optional === true;
    if (!exists && !isOptional)
      return { missing: `${configMapRef === undefined ? 'secret' : 'configmap'} "${name}" not found` };
    for (const [key, value] of Object.entries(values ?? {})) variables[prefix + key] = value;
  }
  for (const one of container.env ?? []) {
    const value =
      one.valueFrom === undefined ? { value: expand(one.value ?? '', variables) } : valueOf(one, container, sources);
    if ('missing' in value) return value;
    if (value.value !== undefined) variables[one.name] = value.value;
  }
  return { variables };
}

type Value = { value: string | undefined } | { missing: string };

function valueOf({ name, valueFrom }: EnvVar, container: Container, sources: EnvironmentSources): Value {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = valueFrom ?? {};
  if (configMapKeyRef !== undefined) {
    const { name: from = '', key, optional = false } = configMapKeyRef;
    return keyed('configmap', from, key, optional, sources.configMap(from) && (sources.configMap(from)?.data ?? {}));
  }
  if (secretKeyRef !== undefined) {
    const { name: from = '', key, optional = false } = secretKeyRef;
    return keyed('secret', from, key, optional, decoded(sources.secret(from)));
  }
  if (fieldRef !== undefined) {
    const value = fieldValue(fieldRef.fieldPath, sources);
    return value === undefined
      ? { missing: `env ${name} refers to the unknown field ${fieldRef.fieldPath}` }
      : { value };
  }
  if (resourceFieldRef !== undefined) {
    const { containerName, resource, divisor } = resourceFieldRef;
    const of = [...(sources.pod.spec?.containers ?? []), ...(sources.pod.spec?.initContainers ?? [])].find(
      (one) => one.name === (containerName || container.name),
    );
    const value = of && resourceValue(resource, divisor, of, sources.allocatable);
    return value === undefined ? { missing: `env ${name} refers to the unknown resource ${resource}` } : { value };
  }
  return { value: undefined };
}

function keyed(
  kind: string,
  name: string,
  key: string,
  isOptional: boolean,
  values: Readonly<Record<string, string>> | undefined,
): Value {
  if (values !== undefined && Object.hasOwn(values, key)) return { value: values[key] };
  if (isOptional) return { value: undefined };
  return {
    missing: values === undefined ? `${kind} "${name}" not found` : `couldn't find key ${key} in ${kind} ${name}`,
  };
}

function decoded(secret: Secret | undefined): Record<string, string> | undefined {
  if (secret === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );
}

function serviceLinks(services: readonly Service[]): Record<string, string> {
  const links: Record<string, string> = {};
  for (const { metadata, spec } of services) {
    const address = spec?.clusterIP;
    const [first] = spec?.ports ?? [];
    if (!address || address === 'None' || first === undefined) continue;
    const prefix = (metadata.name ?? '').toUpperCase().replaceAll('-', '_');
    links[`${prefix}_SERVICE_HOST`] = address;
    links[`${prefix}_SERVICE_PORT`] = String(first.port);
    for (const { name, port } of spec?.ports ?? []) {
      if (name) links[`${prefix}_SERVICE_PORT_${name.toUpperCase().replaceAll('-', '_')}`] = String(port);
    }
  }
  return links;
}
