import type { ExplainedRoute, Explanation } from './explain.ts';

/** For people: from the listener to the endpoints, in the order of a request. Wide: also routes that no request reaches. */
export function explanationText({ host, path, servedAs, listeners, problems }: Explanation, isWide = false): string {
  const lines = [`${host}${path}`];
  if (servedAs === undefined)
    lines.push(
      '  nothing serves this host; check the host of the HTTPProxy, Ingress or route, its class or Gateway, and its status',
    );
  else if (servedAs !== host && listeners.some(({ name }) => !name.includes(' of Gateway ')))
    lines.push(`  served as ${servedAs}`);
  for (const { name, address, filters, effects, routes } of listeners) {
    lines.push(`  listener ${name} on ${address}`, `    filters: ${filters.join(', ')}`);
    lines.push(...effects.map((effect) => `    ${effect}`));
    if (routes.length === 0) lines.push('    no route has this path: the answer is 404');
    const taken = routes.findIndex(({ isUnconditional }) => isUnconditional);
    for (const [index, route] of routes.entries()) {
      lines.push(...routeLines(route, index, taken));
      // Later routes are never reached for this path.
      if (index === taken && !isWide) break;
    }
  }
  if (problems.length > 0) lines.push('  problems:', ...problems.map((problem) => `    ${problem}`));
  return `${lines.join('\n')}\n`;
}

function routeLines(
  { match, from, field, through = [], answer, effects, services }: ExplainedRoute,
  index: number,
  taken: number,
): string[] {
  const why =
    index === taken
      ? taken === 0
        ? 'taken: the most specific route for the path'
        : 'taken when no route above is'
      : taken >= 0 && index > taken
        ? 'never taken: a route above takes every request'
        : 'taken when its conditions hold';
  return [
    `    route ${match} (${why})`,
    ...(from === undefined ? [] : [`      from ${from}${field === undefined ? '' : `, ${field}`}`]),
    ...through.toReversed().map((include) => `      included by ${include}`),
    ...(answer === undefined ? [] : [`      ${answer}`]),
    ...effects.map((effect) => `      ${effect}`),
    ...services.flatMap(({ service, share, cluster, endpoints, effects }) => [
      `      to Service ${service}${services.length > 1 ? `, ${share} %` : ''} (cluster ${cluster})`,
      `        endpoints: ${endpoints.length === 0 ? 'none is ready: the answer is 503' : endpoints.join(', ')}`,
      ...effects.map((effect) => `        ${effect}`),
    ]),
  ];
}
