// Labels and annotations of the sidecar's injection, as the original has them.
import { SIDECAR_GROUP } from '../kinds/index.ts';

/** On a Namespace `enabled` asks for sidecars; on a pod `disabled` declines. */
export const INJECTION_LABEL = `${SIDECAR_GROUP}/injection`;
/** On pods that got no sidecar, and did not decline: why. */
export const SKIPPED_LABEL = `${SIDECAR_GROUP}/injection-skipped`;
/** On pods: which KroxyliciousSidecarConfig of the namespace is theirs. */
export const CONFIG_ANNOTATION = `${SIDECAR_GROUP}/config`;
/** On pods: the configuration of their proxy, which reads it as a file. */
export const PROXY_CONFIG_ANNOTATION = `${SIDECAR_GROUP}/proxy-config`;
/** On pods: the generation of the KroxyliciousSidecarConfig that they were given. */
export const GENERATION_ANNOTATION = `${SIDECAR_GROUP}/config-generation`;

export const SIDECAR_CONTAINER = 'kroxylicious-proxy';
