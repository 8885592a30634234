// Settings of an instance that is not there, before it is created or after it is gone: nothing is served with them.
import type { RoutingSettings } from '../routing/settings.ts';

/** No object can name it. */
const NO_CLASS = '\u0000';

export function nowhere(settings: RoutingSettings): RoutingSettings {
  return { ...settings, ingress: { className: NO_CLASS } };
}

export function isNowhere({ ingress }: RoutingSettings): boolean {
  return ingress.className === NO_CLASS;
}
