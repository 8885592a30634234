// The page docs/sesame-and-contour.md, from the entries beside this file.
import { DIFFERENCES } from './differences.ts';
import { FEATURES } from './features.ts';

const TAKE_OVER = `A cluster moves from Contour to Sesame without an edit of its manifests. Sesame reads HTTPProxies, TLSCertificateDelegations and
ExtensionServices of \`projectcontour.io\` as its own when it is started with \`--contour-compat\` (\`spec.sesame.contourCompat: true\` of a
SesameDeployment). Without a configured class it also serves the class \`contour\`, and it reads annotations with the prefix
\`projectcontour.io/\` of Ingresses and Services as those of \`projectsesame.io/\`, which win. Without the flag none of them is read: an
Event of the Ingress, or a warning of the HTTPProxy, names each annotation that is ignored.

1. Translate the configuration: \`sesame migrate config contour.yaml\` takes Contour's file, its ConfigMap, or a ContourConfiguration.
2. Create a SesameDeployment with \`contourCompat: true\` and that configuration. Sesame and its Envoys serve every host beside Contour.
   As long as Contour's leader holds its Lease (\`projectcontour/leader-elect\`, or \`contourLease\`), Sesame writes no status on objects that
   Contour serves, so that each status has one writer. If Sesame may not read the Lease, it writes none either.
3. Move traffic to the Service of Sesame's Envoys.
4. Stop Contour. When its Lease has been given up or has expired, Sesame writes the statuses, on the objects that were there all the time.

The definitions of \`projectsesame.io\` must be installed too (\`capstan install\` does it), even if no object has their group.
\`operators/sesame/test/contour/take-over.test.ts\` moves a cluster of the real Contour 1.33 in this way, under requests through its Envoy:
both Envoys give the same answers, no request is lost, no status changes its verdict or changes back, and no manifest is edited, whether
Contour ends in order or crashes.

An HTTPProxy of each group with one name in one namespace counts once: the oldest is served, and the other one waits until it is gone.
Hosts are shared too: of two HTTPProxies with one \`fqdn\`, of whatever group, the oldest keeps it.
`;

export function page(): string {
  const issue = (number: number) => `[#${number}](https://github.com/projectcontour/contour/issues/${number})`;
  return [
    '# Sesame and Contour',
    'This page is generated: `UPDATE_FIXTURES=1 npm test -- operators/sesame/test/contour/page.test.ts` writes it.',
    '## Moving from Contour to Sesame',
    TAKE_OVER.trim(),
    '## Differences',
    'Sesame answers as Contour does, with these exceptions:',
    DIFFERENCES.map(({ text }) => `- ${text}`).join('\n'),
    '## What users of Contour requested',
    '| request | in Sesame |\n|---|---|\n' +
      FEATURES.map(({ issues, text }) => `| ${issues.map(issue).join(', ')} | ${text} |`).join('\n'),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}
