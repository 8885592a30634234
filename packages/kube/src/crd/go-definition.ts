// Prints the versions of a definition as Go prints Kubernetes' internal form of them. Messages about all versions show this text.
import type { CustomResourceDefinitionVersion } from '../builtin/index.ts';
import { isJsonObject } from '../schema/json-schema.ts';

type Go = Record<string, unknown>;

/** `isShared`: which parts lie above the versions, because all have them in common. */
export function goVersions(
  versions: readonly CustomResourceDefinitionVersion[] | undefined,
  isShared: (field: keyof CustomResourceDefinitionVersion) => boolean,
): unknown {
  if (versions === undefined) return null;
  return versions.map((version): Go => {
    const { schema, subresources, additionalPrinterColumns: columns, selectableFields: fields } = version;
    return {
      Name: version.name ?? '',
      Served: version.served ?? false,
      Storage: version.storage ?? false,
      Deprecated: version.deprecated ?? false,
      DeprecationWarning: version.deprecationWarning ?? null,
      Schema:
        isShared('schema') || !schema
          ? null
          : { OpenAPIV3Schema: schema.openAPIV3Schema ? goSchema(schema.openAPIV3Schema as Go) : null },
      Subresources:
        isShared('subresources') || !subresources
          ? null
          : {
              Status: subresources.status ? {} : null,
              Scale: subresources.scale
                ? {
                    SpecReplicasPath: subresources.scale.specReplicasPath ?? '',
                    StatusReplicasPath: subresources.scale.statusReplicasPath ?? '',
                    LabelSelectorPath: subresources.scale.labelSelectorPath ?? null,
                  }
                : null,
            },
      AdditionalPrinterColumns:
        isShared('additionalPrinterColumns') || !columns
          ? null
          : columns.map((column) => ({
              Name: column.name ?? '',
              Type: column.type ?? '',
              Format: column.format ?? '',
              Description: column.description ?? '',
              Priority: column.priority ?? 0,
              JSONPath: column.jsonPath ?? '',
            })),
      SelectableFields:
        isShared('selectableFields') || !fields ? null : fields.map(({ jsonPath }) => ({ JSONPath: jsonPath })),
    };
  });
}

const or = (value: unknown, unset: unknown) => value ?? unset;

export function goSchema(schema: Go): Go {
  const list = (value: unknown) => (Array.isArray(value) ? value.map((one) => goSchema(one as Go)) : null);
  const map = (value: unknown) =>
    isJsonObject(value)
      ? Object.fromEntries(
          Object.keys(value)
            .toSorted()
            .map((key) => [key, goSchema(value[key] as Go)]),
        )
      : null;
  const { items, additionalProperties: others } = schema;
  const either = (value: unknown) =>
    value === undefined
      ? null
      : typeof value === 'boolean'
        ? { Allows: value, Schema: null }
        : { Allows: true, Schema: goSchema(value as Go) };
  return {
    ID: or(schema['id'], ''),
    Schema: or(schema['$schema'], ''),
    Ref: or(schema['$ref'], null),
    Description: or(schema['description'], ''),
    Type: or(schema['type'], ''),
    Nullable: or(schema['nullable'], false),
    Format: or(schema['format'], ''),
    Title: or(schema['title'], ''),
    Default: or(schema['default'], null),
    Maximum: or(schema['maximum'], null),
    ExclusiveMaximum: or(schema['exclusiveMaximum'], false),
    Minimum: or(schema['minimum'], null),
    ExclusiveMinimum: or(schema['exclusiveMinimum'], false),
    MaxLength: or(schema['maxLength'], null),
    MinLength: or(schema['minLength'], null),
    Pattern: or(schema['pattern'], ''),
    MaxItems: or(schema['maxItems'], null),
    MinItems: or(schema['minItems'], null),
    UniqueItems: or(schema['uniqueItems'], false),
    MultipleOf: or(schema['multipleOf'], null),
    Enum: or(schema['enum'], null),
    MaxProperties: or(schema['maxProperties'], null),
    MinProperties: or(schema['minProperties'], null),
    Required: or(schema['required'], null),
    Items:
      items === undefined
        ? null
        : Array.isArray(items)
          ? { Schema: null, JSONSchemas: list(items) }
          : { Schema: goSchema(items as Go), JSONSchemas: null },
    AllOf: list(schema['allOf']),
    OneOf: list(schema['oneOf']),
    AnyOf: list(schema['anyOf']),
    Not: isJsonObject(schema['not']) ? goSchema(schema['not']) : null,
    Properties: map(schema['properties']),
    AdditionalProperties: either(others),
    PatternProperties: map(schema['patternProperties']),
    Dependencies: null,
    AdditionalItems: either(schema['additionalItems']),
    Definitions: map(schema['definitions']),
    ExternalDocs: null,
    Example: or(schema['example'], null),
    XPreserveUnknownFields: or(schema['x-kubernetes-preserve-unknown-fields'], null),
    XEmbeddedResource: or(schema['x-kubernetes-embedded-resource'], false),
    XIntOrString: or(schema['x-kubernetes-int-or-string'], false),
    XListMapKeys: or(schema['x-kubernetes-list-map-keys'], null),
    XListType: or(schema['x-kubernetes-list-type'], null),
    XMapType: or(schema['x-kubernetes-map-type'], null),
    XValidations: Array.isArray(schema['x-kubernetes-validations'])
      ? schema['x-kubernetes-validations'].map((rule: Go) => ({
          Rule: or(rule['rule'], ''),
          Message: or(rule['message'], ''),
          MessageExpression: or(rule['messageExpression'], ''),
          Reason: or(rule['reason'], null),
          FieldPath: or(rule['fieldPath'], ''),
          OptionalOldSelf: or(rule['optionalOldSelf'], null),
        }))
      : null,
  };
}
