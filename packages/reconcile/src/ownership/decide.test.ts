import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject, ManagedFieldsEntry, OwnerReference } from '@capstan/kube';
import * as fc from 'fast-check';
import { ADOPTED_ANNOTATION, INVENTORY_LABEL, OWNER_ANNOTATION } from '../marks.ts';
import { allows, type Decision, decide, type Intent } from './decide.ts';
import { CLAIMANT } from './ownership.test-support.ts';
import { standingOf } from './standing.ts';

const US = CLAIMANT.manager;
const USER = 'kubectl';

interface Traits {
  label?: 'ours' | 'others';
  /** The field manager that set the label. */
  labelBy?: string;
  controller?: 'owner' | 'named by the plan' | 'another';
  /** The field manager that set the controller. */
  controllerBy?: string;
  refers?: boolean;
  adopted?: boolean;
  described?: 'owner' | 'another';
  applied?: boolean;
  uid?: string;
}

const UIDS = { owner: CLAIMANT.uid ?? '', 'named by the plan': 'uid-planned', another: 'uid-another' };

function objectWith(traits: Traits): KubeObject {
  const { label, labelBy = USER, controller, controllerBy = USER, refers, adopted, described, applied } = traits;
  const reference = (uid: string, isController: boolean): OwnerReference => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: uid,
    uid,
    controller: isController,
  });
  const references = [
    ...(controller === undefined ? [] : [reference(UIDS[controller], true)]),
    ...(refers && controller !== 'owner' ? [reference(UIDS.owner, false)] : []),
  ];
  const fields = (manager: string): Record<string, unknown> => ({
    'f:data': {},
    'f:metadata': {
      ...(label !== undefined && labelBy === manager && { 'f:labels': { [`f:${INVENTORY_LABEL}`]: {} } }),
      ...(controller !== undefined &&
        controllerBy === manager && { 'f:ownerReferences': { [`k:{"uid":"${UIDS[controller]}"}`]: {} } }),
    },
  });
  const entry = (manager: string): ManagedFieldsEntry => ({
    manager,
    operation: manager === US && !applied ? 'Update' : 'Apply',
    fieldsType: 'FieldsV1',
    fieldsV1: fields(manager),
  });
  const managers = new Set([labelBy, controllerBy, ...(applied ? [US] : [])]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'x',
      namespace: 'default',
      uid: traits.uid ?? 'uid-x',
      resourceVersion: '7',
      ...(label && { labels: { [INVENTORY_LABEL]: label === 'ours' ? CLAIMANT.inventory : 'another-inventory' } }),
      annotations: {
        ...(adopted && { [ADOPTED_ANNOTATION]: 'true' }),
        ...(described && { [OWNER_ANNOTATION]: described === 'owner' ? CLAIMANT.described : 'test.web ConfigMap a/b' }),
      },
      ownerReferences: references,
      managedFields: [...managers].map(entry),
    },
  };
}

const exact = (adopts: Extract<Intent, { mode: 'exact' }>['adopts'] = false, controls = true): Intent => ({
  mode: 'exact',
  adopts,
  controls,
  controllers: [UIDS['named by the plan']],
});
const minting = (isValid: boolean, adopts: false | 'referring' = false): Intent => ({
  mode: 'mint',
  adopts,
  controllers: [],
  isValid: () => isValid,
});
const removing: Intent = { mode: 'remove', uid: 'uid-x' };
const resultOf = (decision: Decision) => ('conflict' in decision ? 'conflict' : decision.may);
const OWN: Traits = { label: 'ours', labelBy: US };

describe('the decision', () => {
  const table: readonly (readonly [string, Intent, Traits | undefined, string])[] = [
    ['an absent child is created', exact(), undefined, 'create'],
    ['a child of ours is updated', exact(), OWN, 'update'],
    ['a child that was restored from a backup is taken over', exact(), { label: 'ours' }, 'takeOver'],
    ['a child whose label was removed is taken over', exact(), { applied: true, described: 'owner' }, 'takeOver'],
    [
      'one of another owner without its label is a conflict',
      exact(),
      { applied: true, described: 'another' },
      'conflict',
    ],
    ['a free object is a conflict', exact(), {}, 'conflict'],
    ['a free object is adopted where the plan adopts', exact(true), {}, 'adopt'],
    ['a free object is shared where the plan shares', exact('shared'), {}, 'share'],
    ['a free object is no upstream object', exact('referring'), {}, 'conflict'],
    ['an upstream object is taken over', exact('referring'), { refers: true }, 'takeOver'],
    ['an object of another controller is a conflict', exact(true), { controller: 'another' }, 'conflict'],
    [
      'a reference to us does not beat another controller',
      exact(true, false),
      { controller: 'another', refers: true },
      'conflict',
    ],
    ['our label does not beat another controller', exact(), { ...OWN, controller: 'another' }, 'conflict'],
    ['a controller that we set is ours', exact(), { ...OWN, controller: 'another', controllerBy: US }, 'update'],
    ['a controller that the plan names is ours', exact(false, false), { controller: 'named by the plan' }, 'takeOver'],
    ['a child of another owner is a conflict', exact(true), { label: 'others', labelBy: US }, 'conflict'],
    ['an absent shared object is created', { mode: 'shared' }, undefined, 'create'],
    ['a shared object without an owner is updated', { mode: 'shared' }, {}, 'update'],
    ['a shared object of another controller is a conflict', { mode: 'shared' }, { controller: 'another' }, 'conflict'],
    ['a kept object stays', { mode: 'keep' }, OWN, 'leave'],
    ['one that is created only when absent stays', { mode: 'createOnly' }, {}, 'leave'],
    ['one that is absent is created', { mode: 'createOnly' }, undefined, 'create'],
    ['an absent minted object is created', minting(false), undefined, 'create'],
    ['a valid minted object stays', minting(true), OWN, 'leave'],
    ['an expired minted object is replaced', minting(false), OWN, 'replace'],
    ['an expired object of the user is a conflict', minting(false), {}, 'conflict'],
    ['an expired object with a copied label is a conflict', minting(false), { label: 'ours' }, 'conflict'],
    ['an expired upstream object is replaced', minting(false, 'referring'), { refers: true }, 'replace'],
    ['a valid object of another owner is a conflict', minting(true), { label: 'others' }, 'conflict'],
    ['a patch of an absent object is none', { mode: 'patch' }, undefined, 'leave'],
    ['a patch of any object is an update', { mode: 'patch' }, { controller: 'another' }, 'update'],
    ['a removal of a child of ours is made', removing, OWN, 'delete'],
    ['a removal of another object of that name is none', removing, { ...OWN, uid: 'uid-y' }, 'leave'],
    ['a removal of a foreign object is a conflict', removing, {}, 'conflict'],
    ['a removal of a copy is a conflict', removing, { label: 'ours' }, 'conflict'],
    ['a removal of an adopted object is a conflict', removing, { ...OWN, adopted: true }, 'conflict'],
    ['an unplanned child is deleted', { mode: 'unplanned' }, OWN, 'delete'],
    ['an unplanned copy stays', { mode: 'unplanned' }, { label: 'ours' }, 'leave'],
    ['an unplanned adopted object is given back', { mode: 'unplanned' }, { ...OWN, adopted: true }, 'giveBack'],
    [
      'an unplanned object of another controller stays',
      { mode: 'unplanned' },
      { ...OWN, controller: 'another' },
      'leave',
    ],
  ];
  for (const [name, intent, traits, expected] of table)
    test(name, () => {
      const observed = traits === undefined ? undefined : objectWith(traits);
      assert.equal(resultOf(decide(intent, observed, CLAIMANT)), expected);
    });

  test('a removal needs evidence that a program of the operator set the label', () => {
    const provenance = { label: INVENTORY_LABEL, managers: ['discoverer'] };
    const intent: Intent = { ...removing, mode: 'remove', uid: 'uid-x', provenance };
    const result = (traits: Traits) => resultOf(decide(intent, objectWith(traits), CLAIMANT));
    assert.equal(result({ label: 'others', labelBy: 'discoverer' }), 'delete');
    assert.equal(result({ label: 'others', labelBy: USER }), 'conflict');
    assert.equal(result({ label: 'ours', labelBy: 'discoverer', controller: 'another' }), 'conflict');
  });

  test('a removal by a ruling needs an object that the ruling is about, and no controller', () => {
    const remove = (name: string) =>
      ({
        mode: 'remove',
        uid: 'u',
        provenance: { ruling: '0034', applies: ({ metadata }: KubeObject) => metadata.name === name },
      }) as const;
    const free = objectWith({ uid: 'u' });
    const { name = '' } = free.metadata;
    assert.equal(resultOf(decide(remove(name), free, CLAIMANT)), 'delete');
    assert.equal(resultOf(decide(remove(`not ${name}`), free, CLAIMANT)), 'conflict');
    assert.equal(resultOf(decide(remove(name), objectWith({ uid: 'u', controller: 'another' }), CLAIMANT)), 'conflict');
  });

  test('a child known by label is created, or updated if it is ours and nothing controls it', () => {
    const labelled = (claim?: string) => ({ mode: 'labelled', claimOf: () => claim }) as const;
    assert.equal(resultOf(decide(labelled('is theirs'), undefined, CLAIMANT)), 'create');
    assert.equal(resultOf(decide(labelled(), objectWith({}), CLAIMANT)), 'update');
    assert.deepEqual(decide(labelled('is theirs'), objectWith({}), CLAIMANT), { conflict: 'is theirs' });
    assert.equal(resultOf(decide(labelled(), objectWith({ controller: 'another' }), CLAIMANT)), 'conflict');
    // Labels are copied from elsewhere, the inventory label of another owner among them.
    assert.equal(resultOf(decide(labelled(), objectWith({ label: 'others' }), CLAIMANT)), 'update');
  });

  test('a removal of an upstream object needs a controller of ours and a ruling', () => {
    const provenance = { controllers: ['uid-planned'], ruling: '0034' };
    const intent: Intent = { mode: 'remove', uid: 'uid-x', provenance };
    const result = (traits: Traits) => resultOf(decide(intent, objectWith(traits), CLAIMANT));
    assert.equal(result({ controller: 'named by the plan' }), 'delete');
    assert.equal(result({ controller: 'another' }), 'conflict');
    assert.equal(result({}), 'conflict');
  });
});

describe('whatever an object carries', () => {
  const traits: fc.Arbitrary<Traits> = fc.record(
    {
      label: fc.constantFrom('ours', 'others'),
      labelBy: fc.constantFrom(US, USER, `${US}.share`, 'capstan.test.other'),
      controller: fc.constantFrom('owner', 'named by the plan', 'another'),
      controllerBy: fc.constantFrom(US, USER),
      refers: fc.boolean(),
      adopted: fc.boolean(),
      described: fc.constantFrom('owner', 'another'),
      applied: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const intents: fc.Arbitrary<Intent> = fc.oneof(
    fc.record({
      mode: fc.constant('exact'),
      adopts: fc.constantFrom(false, true, 'referring', 'shared'),
      controls: fc.boolean(),
      controllers: fc.constantFrom([], [UIDS['named by the plan']]),
    }) as fc.Arbitrary<Intent>,
    fc.boolean().map((isValid) => minting(isValid)),
    fc.constantFrom<Intent>(
      removing,
      ...(['shared', 'keep', 'createOnly', 'patch', 'unplanned'] as const).map((mode) => ({ mode })),
    ),
  );
  const created = ({ label, labelBy, adopted, controller, controllerBy }: Traits) =>
    label === 'ours' &&
    labelBy === US &&
    !adopted &&
    (controller === undefined || controller === 'owner' || controllerBy === US);

  test('it is deleted or replaced only if we created it', () => {
    fc.assert(
      fc.property(traits, intents, (given, intent) => {
        const decision: Decision = decide(intent, objectWith(given), CLAIMANT);
        if (allows(decision, 'delete', 'replace')) assert.ok(created(given));
      }),
      { numRuns: 5000 },
    );
  });

  test('another controller is never overruled', () => {
    fc.assert(
      fc.property(traits, intents, (given, intent) => {
        const isForeign = given.controller === 'another' && given.controllerBy !== US;
        fc.pre(isForeign && intent.mode !== 'patch');
        assert.ok(['conflict', 'leave'].includes(resultOf(decide(intent, objectWith(given), CLAIMANT))));
      }),
      { numRuns: 3000 },
    );
  });

  test('each object has exactly one standing, and the decision follows from it', () => {
    fc.assert(
      fc.property(traits, intents, (given, intent) => {
        const object = objectWith(given);
        assert.deepEqual(standingOf(object, CLAIMANT), standingOf(object, CLAIMANT));
        assert.equal(
          resultOf(decide(intent, object, CLAIMANT)),
          resultOf(decide(intent, structuredClone(object), CLAIMANT)),
        );
      }),
    );
  });
});
