/** Where the seed puts its kinds, and the prefix of every label and annotation that Gimbal writes. */
export const GROUP = 'gimbal.heptio.com';
export const VERSION = 'v1';

/** The other group of the seed's second example. */
export const CONTOUR_GROUP = 'contour.heptio.com';

/** Labels are written in the first family and read in both: main upstream renamed them. */
export const LABEL_FAMILIES = [GROUP, 'gimbal.projectcontour.io'] as const;

export const BACKEND_LABEL = `${GROUP}/backend`;
export const SERVICE_LABEL = `${GROUP}/service`;
export const LOAD_BALANCER_ID_LABEL = `${GROUP}/load-balancer-id`;
export const LOAD_BALANCER_NAME_LABEL = `${GROUP}/load-balancer-name`;

export const FINALIZER = `${GROUP}/discoverer`;

/** The value of one of Gimbal's labels, of whichever family. */
export function gimbalLabel(
  labels: Readonly<Record<string, string>> | undefined,
  name: 'backend' | 'service',
): string | undefined {
  return labels?.[`${LABEL_FAMILIES[0]}/${name}`] ?? labels?.[`${LABEL_FAMILIES[1]}/${name}`];
}
