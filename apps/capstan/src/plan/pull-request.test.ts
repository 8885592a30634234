// A plan for a review: the comment, the gate, and the recording in place of a cluster.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatMarkdown } from './format-markdown.ts';
import type { PlanReport } from './format-plan.ts';
import { failingEffects } from './gate.ts';

const write = { level: 1, by: 'sites.site', for: 'Site default/home', paths: [], changes: [] } as const;
const report: PlanReport = {
  given: [{ verb: 'change', object: 'Site default/home', tool: 'kubectl apply', paths: [], changes: [] }],
  writes: [
    {
      ...write,
      verb: 'apply',
      object: 'Deployment default/home',
      disturbs: 'rolls pods',
      changes: [{ path: 'spec.template.spec.image', before: 'a:1', after: '```a:2' }],
    },
    { ...write, verb: 'delete', object: 'ConfigMap default/home' },
  ],
  later: [
    { ...write, verb: 'delete', object: 'Deployment default/old', disturbs: 'stops pods', until: 'pods are ready' },
  ],
  deliveries: [{ by: 'sesame.xds', key: 'listener http', change: 'changed', disturbs: 'drains a listener' }],
  problems: [{ by: 'sites.site', object: 'Site default/home', message: 'Ready is False: <b>@team</b>' }],
  unknowns: [],
  refusals: [],
  mayFollow: [],
  undecided: [],
  due: [],
  levels: 1,
  notes: [],
};

describe('--fail-on', () => {
  test('names the effects of each gate and no others', () => {
    assert.deepEqual(failingEffects(report, ['rolls']), ['Deployment default/home: rolls pods']);
    assert.deepEqual(failingEffects(report, ['drains']), ['listener http (sesame.xds): drains a listener']);
    assert.deepEqual(failingEffects(report, ['tears']), ['Deployment default/old: stops pods']);
    assert.deepEqual(failingEffects(report, ['deletes']), [
      'ConfigMap default/home: is deleted',
      'Deployment default/old: is deleted',
    ]);
    assert.deepEqual(failingEffects(report, []), []);
  });
});

describe('-o markdown', () => {
  const comment = formatMarkdown(report, failingEffects(report, ['rolls']));

  test('begins with the sum and the disturbances, and folds the values', () => {
    assert.match(comment, /^<!-- capstan plan -->\n### Capstan plan: 1 changed \(rolls pods\), 1 deleted, 1 delivered/);
    assert.match(comment, /\*\*Disturbs\*\*\n\n- `Deployment default\/home` by sites\.site: \*\*rolls pods\*\*\n/);
    assert.match(comment, /- `listener http` by sesame\.xds: \*\*drains a listener\*\*\n/);
    assert.match(comment, /\*\*Stopped by `--fail-on`\*\*\n\n- Deployment default\/home: rolls pods\n/);
    assert.match(comment, /<details><summary>All changes<\/summary>\n\n````diff\n/);
  });

  test('a text of the cluster is neither HTML nor a mention, and closes no fence', () => {
    assert.match(comment, /Ready is False: \\<b\\>@\u200bteam\\<\/b\\>/);
    const [, folded = ''] = comment.split('````diff');
    assert.match(folded, /```a:2[^]*\n````\n\n<\/details>/);
  });
});
