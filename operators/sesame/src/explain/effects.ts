// The effects of policies of the model, in a few words with the field that each comes from.
import type { Cluster } from '../model/cluster.ts';
import type { Login } from '../model/listener.ts';
import type { Origin } from '../model/origin.ts';
import type { Compression, ErrorPage, Policies } from '../model/policy.ts';

/** Returns the effects of policies of a route; the route itself names the field. */
export function routeEffects({ compression, needsNoLogin, hostAuthorization }: Policies): string[] {
  return [
    ...(needsNoLogin === true ? ['clients need not log in'] : []),
    ...(hostAuthorization?.isDisabled ? ['no service is asked for permission'] : []),
    ...(compression ? [compressionText(compression)] : []),
  ];
}

function compressionText(compression: Compression | 'off'): string {
  return compression === 'off' ? 'answers are not compressed' : `answers are compressed by ${compression}`;
}

/** Returns the effects on all requests of a host; `shared` are the error pages of all hosts. */
export function hostEffects(policies: Policies, shared: readonly ErrorPage[]): string[] {
  const { errorPages = [], hostAuthorization, compression } = policies;
  const own = new Set(errorPages.flatMap(({ statuses }) => statuses));
  const asked =
    hostAuthorization && !hostAuthorization.isDisabled
      ? [`asks ${hostAuthorization.service.cluster} for permission: ${originText(hostAuthorization.origin)}`]
      : [];
  const pages = [...errorPages, ...shared].flatMap((page) => {
    const statuses = errorPages.includes(page) ? page.statuses : page.statuses.filter((status) => !own.has(status));
    if (statuses.length === 0) return [];
    const answers = page.replacesServices ? ', of services too' : '';
    return [`error page for ${statuses.join(', ')}${answers}: ${originText(page.origin)}`];
  });
  return [...asked, ...pages, ...(compression ? [compressionText(compression)] : [])];
}

export function loginEffects(login: Login | undefined): string[] {
  return login
    ? [`sends clients without a session to ${login.authorizationEndpoint}: ${originText(login.origin)}`]
    : [];
}

/** Returns the effects on the endpoints of a cluster. */
export function clusterEffects({ outliers }: Pick<Cluster, 'outliers'>): string[] {
  if (!outliers) return [];
  const { serverErrors, localFailures, baseEjection, maxPercent, origin } = outliers;
  const local = localFailures === undefined ? '' : ` or ${localFailures} failed connections`;
  return [
    `leaves out an endpoint after ${serverErrors} errors${local} in a row, for ${baseEjection}, at most ${maxPercent} %: ${originText(origin)}`,
  ];
}

/** `HTTPProxy default/shop, spec.virtualhost`; the configuration in force has no name. */
function originText({ kind, namespace, name, path }: Origin): string {
  return name === '' ? `${kind}, ${path}` : `${kind} ${namespace}/${name}, ${path}`;
}
