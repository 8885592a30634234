// The SesameConfiguration of an instance: the settings of the SesameDeployment, and those that follow from its names.
import { withoutNulls } from '../configuration/normalise.ts';
import type { ConfigurationSpec } from '../kinds/index.ts';
import { type InstanceId, names } from './instance.ts';

/** The configuration as the instance's Sesame reads it. The user's values win over the instance's own choices. */
export function instanceConfiguration(given: ConfigurationSpec | undefined, id: InstanceId): ConfigurationSpec {
  const { envoy, leaderElection, ...rest } = withoutNulls(given ?? {}) as ConfigurationSpec;
  // The operator acts on it; Sesame would report it as ignored.
  const { managed: _managed, ...ownEnvoy } = envoy ?? {};
  const isGiven = (value: object | undefined | null) =>
    value !== undefined && value !== null && Object.keys(value).length > 0;
  return {
    ...rest,
    envoy: {
      ...ownEnvoy,
      ...(!isGiven(envoy?.service) && { service: { name: names.envoy(id), namespace: id.namespace } }),
    },
    leaderElection: {
      ...leaderElection,
      ...(!isGiven(leaderElection?.configmap) && { configmap: { name: names.lock(id), namespace: id.namespace } }),
    },
  };
}
