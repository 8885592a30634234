// The custom kinds of the differential test: one in namespaces with two versions, one in none.

const META = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };

const spec = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 0, maximum: 100 },
    ratio: { type: 'number' },
    mode: { type: 'string', enum: ['Auto', 'Manual'], default: 'Auto' },
    name: { type: 'string', minLength: 2, maxLength: 10, pattern: '^[a-z]+$' },
    when: { type: 'string', format: 'date-time' },
    enabled: { type: 'boolean' },
    port: { 'x-kubernetes-int-or-string': true },
    nothing: { type: 'string', nullable: true },
    older: { type: 'string' },
    fixed: {
      type: 'string',
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed may not change' }],
    },
    limits: {
      type: 'object',
      properties: { low: { type: 'integer', default: 1 }, high: { type: 'integer', default: 10 } },
      'x-kubernetes-validations': [
        {
          rule: 'self.low <= self.high',
          messageExpression: "self.low == 50 ? 'fifty is too low' : 'low is above high'",
          reason: 'FieldValueInvalid',
          fieldPath: '.low',
        },
      ],
    },
    tags: { type: 'array', maxItems: 4, 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    items: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string' },
          value: { type: 'string' },
          weight: { type: 'integer', default: 1 },
        },
      },
    },
    steps: { type: 'array', items: { type: 'object', properties: { run: { type: 'string' } } } },
    atom: {
      type: 'object',
      'x-kubernetes-map-type': 'atomic',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
    },
    options: { type: 'object', additionalProperties: { type: 'string' } },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    template: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  },
  'x-kubernetes-validations': [
    { rule: "self.size < 50 || self.mode == 'Manual'", message: 'a large one is managed by hand' },
    { rule: '!has(oldSelf.ratio) || has(self.ratio)', message: 'ratio may not be removed', optionalOldSelf: false },
  ],
};

const status = {
  type: 'object',
  properties: {
    ready: { type: 'integer' },
    selector: { type: 'string' },
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status'],
        properties: { type: { type: 'string' }, status: { type: 'string' }, reason: { type: 'string' } },
      },
    },
  },
};

const schema = { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec, status } } };

export const WIDGETS = {
  ...META,
  metadata: { name: 'widgets.differential.dev' },
  spec: {
    group: 'differential.dev',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'], categories: ['all'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.size',
            statusReplicasPath: '.status.ready',
            labelSelectorPath: '.status.selector',
          },
        },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Mode', type: 'string', jsonPath: '.spec.mode', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        selectableFields: [{ jsonPath: '.spec.mode' }],
      },
      {
        name: 'v1beta1',
        served: true,
        storage: false,
        deprecated: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                ...spec,
                required: undefined,
                properties: { ...spec.properties, older: { type: 'string', default: 'yes' }, beta: { type: 'string' } },
              },
              status,
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
};

export const GADGETS = {
  ...META,
  metadata: { name: 'gadgets.differential.dev' },
  spec: {
    group: 'differential.dev',
    scope: 'Cluster',
    names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        // Without a status subresource: the status is a field like others.
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  colour: { type: 'string', default: 'red', enum: ['red', 'green'] },
                  parts: { type: 'array', items: { type: 'string' } },
                  owner: {
                    type: 'object',
                    default: {},
                    properties: { name: { type: 'string', default: 'nobody' }, age: { type: 'integer' } },
                  },
                },
              },
              status: { type: 'object', properties: { phase: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};
