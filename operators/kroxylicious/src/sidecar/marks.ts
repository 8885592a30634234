// Labels and annotations of the sidecar injection, with the names of the original.
import { SIDECAR_GROUP } from '../kinds/index.ts';

/** `enabled` on a Namespace requests sidecars. `disabled` on a pod declines one. */
export const INJECTION_LABEL = `${SIDECAR_GROUP}/injection`;
/** On pods that got no sidecar and did not decline it: the reason. */
export const SKIPPED_LABEL = `${SIDECAR_GROUP}/injection-skipped`;
/** On pods: the name of their KroxyliciousSidecarConfig. */
export const CONFIG_ANNOTATION = `${SIDECAR_GROUP}/config`;
/** On pods: the configuration of their proxy, which the proxy reads as a file. */
export const PROXY_CONFIG_ANNOTATION = `${SIDECAR_GROUP}/proxy-config`;
/** On pods: the generation of the KroxyliciousSidecarConfig that they got. */
export const GENERATION_ANNOTATION = `${SIDECAR_GROUP}/config-generation`;

export const SIDECAR_CONTAINER = 'kroxylicious-proxy';
